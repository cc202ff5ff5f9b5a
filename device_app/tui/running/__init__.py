"""The app as a process: its terminal, the detection of a freeze, and the end of the app."""
