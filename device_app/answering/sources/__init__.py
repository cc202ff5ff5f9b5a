"""Where an answer's tokens come from. Each source turns a prompt into a stream of text pieces."""
