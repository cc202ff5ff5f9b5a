"""Runs Jackdaw on an emulated aarch64 Debian: its engine's tests, its self-tests of exactness with each build, and one
question.
"""

from shared.telemetry import switch_off

switch_off()
