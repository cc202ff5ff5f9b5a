"""The app's search: one field over files and conversations."""
