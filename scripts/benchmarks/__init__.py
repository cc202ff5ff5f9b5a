"""Benchmarks, one per module; the command `scripts/bench NAME` runs one of them."""

from shared.telemetry import switch_off

switch_off()
