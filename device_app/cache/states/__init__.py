"""Attention states computed before they are needed: a tree of the keys and values of passages."""
