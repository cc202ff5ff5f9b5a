"""The device's side of working with a companion server."""
