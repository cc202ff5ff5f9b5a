"""The search of the app: one field over files and conversations."""
