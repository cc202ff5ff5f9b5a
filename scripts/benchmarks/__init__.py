"""Benchmarks, one module each; `scripts/bench` runs them by name."""
