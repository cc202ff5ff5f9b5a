"""Answers prepared before questions: the bank of questions and answers, its guard, and answers marked wrong."""
