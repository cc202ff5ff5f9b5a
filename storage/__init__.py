"""Rows and bytes on disk: paths, the database and its migrations, keywords, vectors. Knows no policy and no model."""

from shared.telemetry import switch_off

switch_off()
