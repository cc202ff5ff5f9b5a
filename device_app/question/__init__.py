"""Facts about one question, which every other package may import."""
