"""Decides which side starts an answer, and when a running answer moves to the other side (DiSCo). No clock, no socket.

In the order of a race: `cost` (budget), `weighed` (facts), `optimal` (waiting times), `race` (runs both sides),
`migration` (moves the answer), `interruption` (a lost connection).
"""
