"""Models that run on this machine: engines (tokens to logits), sampling, embedders, and their weight files."""

from shared.telemetry import switch_off

switch_off()
