"""The recipe of the answerer: a small model trained to answer from passages, briefly, and to say when they do not tell."""
