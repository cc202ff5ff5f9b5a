"""The command-line code that both programs share: command base classes, output and exit codes."""
