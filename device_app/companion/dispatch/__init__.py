"""Decides which side starts an answer, and when a live answer moves to the other (DiSCo), without clock or socket.

In the order of a race: `cost` (budget), `weighed` (facts), `optimal` (waiting times), `race` (runs both sides),
`migration` (moves the answer), `interruption` (a lost connection).
"""
