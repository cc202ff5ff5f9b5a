"""The role of the aggregating side, which decides the final tokens of a joint answer, and its hand-over.

One side has the role at a time, so that hand-overs cannot cross.
"""

from shared.aggregation.messages import Switch
from shared.aggregation.terms import Terms
from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode


class Role:
    """Whether a side aggregates: decides the final tokens of a joint answer. A hand-over that arrives early waits for
    the tokens that were decided before it.
    """

    def __init__(self, terms: Terms) -> None:
        self.aggregates = terms.place in (terms.side, "both")
        self.fixed = terms.place == "both" or terms.rule == "greedy"
        self._last = terms.max_tokens - 1
        self._since = 0
        self._waiting: Switch | None = None
        self._taken = -1

    def give(self, position: int) -> bool:
        """Give up the role of deciding tokens, at most once per position; return whether it was given up.

        Without this limit the sides could hand the role over forever without deciding a token.
        """
        if not self.aggregates or self.fixed or position == self._since:
            return False
        self.aggregates = False
        return True

    def on_switch(self, switch: Switch, settled: int, own_epoch: int, others_epoch: int) -> None:
        """Accept a hand-over from the other side, which takes effect in `take`; ignore a duplicate.

        `settled` is the number of final tokens; the epochs (first positions) are those of both sides' latest chains of
        drafts, as far as this side knows. Raises ProtocolError if the other side did not aggregate, or the position or
        an epoch is impossible.
        """
        if switch == self._waiting or switch.position <= self._taken:
            return  # a duplicate
        ordered = 0 <= switch.mine <= switch.position <= self._last and switch.position >= settled
        known = switch.mine >= others_epoch and 0 <= switch.yours <= own_epoch
        if self.aggregates or self.fixed or self._waiting or not (ordered and known):
            raise ProtocolError(
                CloseCode.ILLEGAL,
                "An impossible hand-over came: its sender did not aggregate, or its position or epochs are wrong.",
            )
        self._waiting = switch

    def take(self, position: int) -> Switch | None:
        """Take over the role of deciding tokens, if a hand-over waits for this position; return the hand-over, else
        None.
        """
        if not self._waiting or self._waiting.position != position:
            return None
        self.aggregates, self._since = True, position
        switch, self._waiting, self._taken = self._waiting, None, position
        return switch
