"""The chat screen: transcript, composer, list of conversations, sources."""
