"""What the command lines of both programs have in common: the frame of a command, output, and how one ends."""
