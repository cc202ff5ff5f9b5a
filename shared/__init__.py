"""Code that device and server must share exactly: errors, value types, text splitting, prompts, settings, traces.

Uses no model runtime, no database and no socket.
"""

from shared.telemetry import switch_off

switch_off()
