"""Real evaluation data, in the form in which Jackdaw reads files: documents, questions, and held-out groups."""

from shared.telemetry import switch_off

switch_off()
