"""Answers kept ahead of questions: the bank of questions and answers, its guard, and answers that were marked wrong."""
