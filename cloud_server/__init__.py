"""The companion server's program. It shares the lower packages with the device app and never imports `device_app`."""

from shared.telemetry import switch_off

switch_off()
