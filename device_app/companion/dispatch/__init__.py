"""Decides which side starts an answer, and when a live answer moves to the other (DiSCo), without clock or socket."""
