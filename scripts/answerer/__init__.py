"""The answerer's recipe: a small model taught to answer from passages, briefly, and to say when they do not tell."""

from shared.telemetry import switch_off

switch_off()
