"""Attention states kept ahead of prompts: a tree of the keys and values of passages."""
