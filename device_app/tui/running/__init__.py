"""The app as a process: its terminal, detecting that it hangs, and ending it."""
