"""Data on disk: paths, the database and its migrations, keyword and vector indexes. Knows no policy and no model."""

from shared.telemetry import switch_off

switch_off()
