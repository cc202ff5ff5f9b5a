"""Whose turn it is: deficit round robin over owners (Shreedhar and Varghese, 1995), with debts.

What a piece of work takes is known once it is done, so an owner may overdraw its balance by its last piece, and has its
next turn when the rounds have paid that. Pure but for its own state.
"""

import math
from collections import OrderedDict
from collections.abc import Collection

QUANTUM = 16.0
"""Work that each owner may have done in a round, in answer tokens: about a chunk of a prompt."""


class RoundRobin:
    """Turns of owners that share one thing. One that was idle is owed nothing; one in debt stays in debt while idle.

    Who comes new has its first turn next, so that short work waits for no round. Who had work and comes again within a
    round is not new (as in FQ-CoDel, RFC 8290).
    Between two turns of an owner that waits, each other one is served a quantum and its longest piece at most.
    """

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum
        self._balances: OrderedDict[str, float] = OrderedDict()  # the first has its turn
        self._paid = False  # that turn: its quantum is in its balance
        self._idle: set[str] = set()  # for a round; then they are forgotten

    def charge(self, owner: str, work: float) -> None:
        """Note what was done for an owner, whether it was its turn or not."""
        self._balances[owner] = self._balances.get(owner, 0.0) - work

    def next(self, waiting: Collection[str]) -> str:
        """The owner whose turn it is, of those that wait, one at least; the same again until it is charged."""
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
        """The same, to see what would come next."""
        copied = RoundRobin(self._quantum)
        copied._balances, copied._paid, copied._idle = self._balances.copy(), self._paid, self._idle.copy()
        return copied

    def _take_in(self, waiting: Collection[str]) -> None:
        """Put who comes new behind the one that has its turn."""
        self._idle.difference_update(waiting)
        turn = next(iter(self._balances)) if self._paid and self._balances else None
        for owner in reversed([newcomer for newcomer in waiting if newcomer not in self._balances]):
            self._balances[owner] = 0.0
            self._balances.move_to_end(owner, last=False)
        if turn is not None:
            self._balances.move_to_end(turn, last=False)

    def _skip_rounds(self, waiting: Collection[str]) -> None:
        """Pay at once the whole rounds in which nobody that waits could be served."""
        least_debt = -max(self._balances[owner] for owner in waiting)
        rounds = math.floor(least_debt / self._quantum)
        if rounds > 0:
            for owner, balance in self._balances.items():
                if balance < 0 or owner in waiting:
                    self._balances[owner] = min(balance + rounds * self._quantum, 0.0)
