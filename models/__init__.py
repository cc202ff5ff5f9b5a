"""Tokens to tokens and text to vectors: engines, sampling, embedder, and where their weights come from."""

from shared.telemetry import switch_off

switch_off()
