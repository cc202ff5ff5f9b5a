"""Facts about one question, which every other room may import."""
