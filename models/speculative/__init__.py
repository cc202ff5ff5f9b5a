"""Speculative decoding: several tokens are drafted, then verified in one pass of the model (Dovetail, section 3)."""
