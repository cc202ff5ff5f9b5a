"""What this device does with a companion server."""
