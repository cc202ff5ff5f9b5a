"""Weights of a larger shape that compute what small ones compute: targets of any cost, with a known text."""

from shared.telemetry import switch_off

switch_off()
