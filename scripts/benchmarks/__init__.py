"""Benchmarks, one per module; `scripts/bench` runs them by name."""

from shared.telemetry import switch_off

switch_off()
