"""Operations that the command line and the terminal app share. They never prompt, print or draw."""
