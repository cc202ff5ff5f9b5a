"""Which side starts an answer, and how a live one moves to the other (DiSCo): decisions, without clock or socket."""
