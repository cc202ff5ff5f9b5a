"""The device's side of a joint answer, written by device and server token by token (DRAGON)."""
