"""Real evaluation data, in the form in which Jackdaw reads files: documents, questions, and groups held out from
training.
"""

from shared.telemetry import switch_off

switch_off()
