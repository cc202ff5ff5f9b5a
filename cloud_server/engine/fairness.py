"""Turns between owners: deficit round robin (Shreedhar and Varghese, 1995), with debts.

The cost of a piece of work is known only once it is done. An owner may therefore overdraw its balance by its last
piece, and gets its next turn when later rounds have paid the debt. No I/O, no clock.
"""

import math
from collections import OrderedDict
from collections.abc import Collection

QUANTUM = 16.0
"""The work that each owner may have done in a round, in answer tokens: about one chunk of a prompt."""


class RoundRobin:
    """The turns of owners that share a resource. An idle owner collects no credit; an owner in debt keeps the debt
    while idle.

    A new owner has the next turn, so that short work does not wait for a round. An owner that had work within the last
    round is not new (as in FQ-CoDel, RFC 8290). Between two turns of a waiting owner, no other owner gets more than a
    quantum plus its longest piece of work.
    """

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum
        self._balances: OrderedDict[str, float] = OrderedDict()  # in order of turns, the current owner first
        self._paid = False  # whether the current owner has got this round's quantum
        self._idle: set[str] = set()  # owners idle for less than a round; then they are forgotten

    def charge(self, owner: str, work: float) -> None:
        """Charge work to an owner, whether or not the work was done in the owner's turn."""
        self._balances[owner] = self._balances.get(owner, 0.0) - work

    def next(self, waiting: Collection[str]) -> str:
        """Return which of the waiting owners (at least one) has its turn; the same owner until `charge` is called for
        it.
        """
        self._take_in(waiting)
        self._skip_rounds(waiting)
        while True:
            owner = next(iter(self._balances))
            if not self._paid and (self._balances[owner] < 0 or owner in waiting):
                self._balances[owner] += self._quantum
            self._paid = True
            if self._balances[owner] > 0 and owner in waiting:
                return owner
            self._paid = False
            if self._balances[owner] < 0 or owner in waiting:
                self._balances.move_to_end(owner)
            elif owner in self._idle:
                self._idle.remove(owner)
                del self._balances[owner]
            else:
                self._idle.add(owner)
                self._balances[owner] = 0.0
                self._balances.move_to_end(owner)

    def copy(self) -> "RoundRobin":
        """Return a copy, with which a caller can look ahead at the next turns."""
        copied = RoundRobin(self._quantum)
        copied._balances, copied._paid, copied._idle = self._balances.copy(), self._paid, self._idle.copy()
        return copied

    def _take_in(self, waiting: Collection[str]) -> None:
        """Insert new owners directly after the current owner."""
        self._idle.difference_update(waiting)
        turn = next(iter(self._balances)) if self._paid and self._balances else None
        for owner in reversed([newcomer for newcomer in waiting if newcomer not in self._balances]):
            self._balances[owner] = 0.0
            self._balances.move_to_end(owner, last=False)
        if turn is not None:
            self._balances.move_to_end(turn, last=False)

    def _skip_rounds(self, waiting: Collection[str]) -> None:
        """Skip all whole rounds in which every waiting owner would still be in debt, and credit these rounds at
        once.
        """
        least_debt = -max(self._balances[owner] for owner in waiting)
        rounds = math.floor(least_debt / self._quantum)
        if rounds > 0:
            for owner, balance in self._balances.items():
                if balance < 0 or owner in waiting:
                    self._balances[owner] = min(balance + rounds * self._quantum, 0.0)
