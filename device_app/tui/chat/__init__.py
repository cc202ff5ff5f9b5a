"""The conversation: transcript, composer, the list of conversations, sources."""
