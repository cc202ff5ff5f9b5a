"""The assistant on the person's own device: knowledge, retrieval, answering, command line."""

from shared.telemetry import switch_off

switch_off()
