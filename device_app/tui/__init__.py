"""The terminal app: one folder or file for each region of the screen.

Only modules in `edge/` use models and the store.
"""
