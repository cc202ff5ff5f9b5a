"""Benchmarks, one module each; `scripts/bench` runs them by name."""

from shared.telemetry import switch_off

switch_off()
