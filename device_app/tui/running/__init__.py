"""The app as a process: its terminal, whether it still answers, and how it comes to its end."""
