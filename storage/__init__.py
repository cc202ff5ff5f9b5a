"""Data on disk: paths, the database and its migrations, keyword and vector indexes. Independent of policies and
models.
"""

from shared.telemetry import switch_off

switch_off()
