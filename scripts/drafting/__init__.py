"""Trains draft networks: small networks that predict the next tokens of a model from its features."""

from shared.telemetry import switch_off

switch_off()
