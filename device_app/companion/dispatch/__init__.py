"""Decides which side starts an answer, and when a running answer moves to the other side (DiSCo). No clock, no socket.

The modules in the order of a race: `cost` computes the budget, `weighed` gathers the facts, `optimal` chooses the
waiting times, `race` runs both sides, `migration` moves the answer, `interruption` handles a lost connection.
"""
