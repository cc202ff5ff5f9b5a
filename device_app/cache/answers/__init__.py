"""Kept answers: the bank of questions and answers, the guard of its reuse, and answers marked wrong."""
