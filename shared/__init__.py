"""What would be a bug if device and server differed: errors, facts, text cutting, prompts, settings, traces.

Knows no model runtime, no database and no socket.
"""

from shared.telemetry import switch_off

switch_off()
