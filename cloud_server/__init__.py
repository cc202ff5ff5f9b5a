"""The companion server's program. It shares the floors below with the device and never imports the device."""

from shared.telemetry import switch_off

switch_off()
