"""The sources of an answer's tokens. Each source turns a prompt into a stream of text pieces."""
