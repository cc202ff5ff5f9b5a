"""The terminal app: one folder or file for each region of the screen; `edge/` alone touches models and the store."""
