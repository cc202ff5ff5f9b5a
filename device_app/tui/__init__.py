"""The terminal app: one folder or file for each region of the screen. Only `edge/` uses models and the store."""
