"""Everyday questions that are answered without a model: by rules, from what the store knows."""
