"""Runs Jackdaw on an emulated aarch64 Debian: its engine's tests, what is exact with which build, a question."""

from shared.telemetry import switch_off

switch_off()
