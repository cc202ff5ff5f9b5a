"""The companion server's program. It shares the floors below with the device and never imports the device."""
