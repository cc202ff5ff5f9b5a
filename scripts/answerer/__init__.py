"""Training of the answerer: a small model that answers from passages, briefly, and says when they do not contain the
answer.
"""

from shared.telemetry import switch_off

switch_off()
