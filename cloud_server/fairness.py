"""Whose turn it is: deficit round robin over owners (Shreedhar and Varghese, 1995), with debts.

What a piece of work takes is known once it is done, so an owner may overdraw its balance by its last piece, and has its
next turn when the rounds have paid that. Pure but for its own state.
"""

import math
from collections import OrderedDict
from collections.abc import Collection

QUANTUM = 16.0
"""Work that each owner may have done in a round, in answer tokens: about a chunk of a prompt."""


class Turns:
    """Turns of owners that share one thing. One that was idle is owed nothing; one in debt stays in debt while idle.

    Between two turns of an owner that waits, each other one is served a quantum and its longest piece at most.
    """

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum
        self._balances: OrderedDict[str, float] = OrderedDict()  # the first has its turn
        self._begun = False  # that turn: its quantum is in its balance

    def charge(self, owner: str, work: float) -> None:
        """Note what was done for an owner, whether it was its turn or not."""
        self._balances[owner] = self._balances.get(owner, 0.0) - work

    def next(self, waiting: Collection[str]) -> str:
        """The owner whose turn it is, of those that wait, one at least; the same again until it is charged."""
        for owner in waiting:
            self._balances.setdefault(owner, 0.0)
        self._skip_rounds(waiting)
        while True:
            owner = next(iter(self._balances))
            if not self._begun and (self._balances[owner] < 0 or owner in waiting):
                self._balances[owner] += self._quantum
            self._begun = True
            if self._balances[owner] > 0 and owner in waiting:
                return owner
            self._begun = False
            if self._balances[owner] >= 0 and owner not in waiting:
                del self._balances[owner]
            else:
                self._balances.move_to_end(owner)

    def copy(self) -> "Turns":
        """The same, to see what would come next."""
        copied = Turns(self._quantum)
        copied._balances, copied._begun = self._balances.copy(), self._begun
        return copied

    def _skip_rounds(self, waiting: Collection[str]) -> None:
        """Pay at once the whole rounds in which nobody that waits could be served."""
        least_debt = -max(self._balances[owner] for owner in waiting)
        rounds = math.floor(least_debt / self._quantum)
        if rounds > 0:
            for owner, balance in self._balances.items():
                if balance < 0 or owner in waiting:
                    self._balances[owner] = min(balance + rounds * self._quantum, 0.0)
