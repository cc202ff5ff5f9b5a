"""Trains the answerer: a small model that answers briefly from passages, and says when they do not contain the
answer.
"""

from shared.telemetry import switch_off

switch_off()
