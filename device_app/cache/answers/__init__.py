"""Kept answers: the bank of questions and answers, the guard that decides on reuse, and answers marked wrong."""
