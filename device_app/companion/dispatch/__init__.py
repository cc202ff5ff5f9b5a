"""Decisions which side starts an answer, and how a live one moves to the other (DiSCo), without clock or socket."""
