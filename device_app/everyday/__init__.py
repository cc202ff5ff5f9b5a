"""Answers everyday questions by rules, from the store and the clock, without a model."""
