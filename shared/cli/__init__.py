"""The part that the command lines of both programs share: command base classes, output and exit codes."""
