"""Drafts of both sides: this side's own chain, and the queue of the other side's received drafts.

A draft counts only if every earlier draft of its chain equals the final token at its position. A token of a joint
answer is final once it is decided: neither side can change it any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.aggregation.distribution import Distribution, Quantised, Top
from shared.aggregation.messages import Draft, Drafts, Rule
from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode


@dataclass(slots=True)
class Judged:
    """The number of drafts that arrived in time to be compared with final tokens, and of accepted drafts."""

    drafts: int = 0
    accepted: int = 0

    def add(self, *, accepted: bool) -> None:
        """Count one compared draft."""
        self.drafts += 1
        self.accepted += accepted


class Chain:
    """This side's drafts since the last rollback. Where a token is final already, the draft equals it."""

    def __init__(self) -> None:
        self.epoch = 0
        self.judged = Judged()
        self._tokens: list[int] = []
        self._distributions: dict[int, Distribution] = {}

    @property
    def end(self) -> int:
        """The position after this chain's last draft."""
        return self.epoch + len(self._tokens)

    def append(self, token: int, distribution: Distribution | None) -> None:
        """Append the next draft."""
        if distribution is not None:
            self._distributions[self.end] = distribution
        self._tokens.append(token)

    def at(self, position: int) -> Draft | None:
        """Return the draft at `position`, if any. Its distribution is dropped once the token at the position is
        final.
        """
        if not self.epoch <= position < self.end:
            return None
        return Draft(self.epoch, self._tokens[position - self.epoch], self._distributions.get(position))

    def supply(self, position: int, distribution: Top) -> bool:
        """Replace the distribution of the draft at `position` by a longer one; return False if that draft's
        distribution is no longer stored.
        """
        if position not in self._distributions:
            return False
        self._distributions[position] = distribution
        return True

    def since(self, position: int) -> tuple[tuple[int, ...], tuple[Distribution, ...]]:
        """Return the tokens and the distributions of the drafts from `position` on."""
        span = range(max(position, self.epoch), self.end)
        kept = tuple(self._distributions[at] for at in span if at in self._distributions)
        return tuple(self._tokens[span.start - self.epoch :]), kept

    def follow(self, position: int, token: int) -> None:
        """Record the final token at the next position; a different draft at that position is dropped, with all drafts
        after it.
        """
        held = self.at(position)
        if held is not None:
            self.judged.add(accepted=held.token == token)
            if held.token != token:
                for at in range(position, self.end):
                    self._distributions.pop(at, None)
                del self._tokens[position - self.epoch :]
        self._distributions.pop(position, None)

    def restart(self, epoch: int) -> None:
        """Start a new, empty chain of drafts, whose first draft will have the position `epoch`."""
        self.epoch = epoch
        self._tokens.clear()
        self._distributions.clear()


class DraftQueue:
    """The other side's drafts, received in any order. An epoch names a chain of drafts by its first position.

    Drops drafts of older epochs, ignores duplicates, and keeps drafts of future epochs within limits. A draft that
    breaks the protocol raises ProtocolError and changes nothing.
    """

    def __init__(self, rule: Rule, vocabulary: int, max_tokens: int, ahead: int) -> None:
        """Create a queue for drafts of a side that drafts at most `ahead` tokens beyond the final ones it knows.

        `rule` says which kind of distribution each draft needs; token ids are below `vocabulary`.
        """
        self.epoch = 0
        self.judged = Judged()
        self._rule, self._vocabulary, self._max_tokens, self._ahead = rule, vocabulary, max_tokens, ahead
        self._entries: dict[int, Draft] = {}
        self._epochs: set[int] = set()  # newer epochs with received drafts
        self._matched = 0  # in this epoch: drafts before this position equal the settled tokens
        self._broken = False

    def __len__(self) -> int:
        """Return the number of queued drafts."""
        return len(self._entries)

    def put(self, drafts: Drafts, settled: Sequence[int]) -> None:
        """Queue received drafts; `settled` are all final tokens so far. Raises ProtocolError."""
        self._check(drafts, len(settled))
        if drafts.epoch < self.epoch:
            return
        distributions: tuple[Distribution | None, ...] = drafts.distributions or (None,) * len(drafts.tokens)
        for offset, (token, distribution) in enumerate(zip(drafts.tokens, distributions, strict=True)):
            position = drafts.position + offset
            held = self._entries.get(position)
            passed = drafts.epoch == self.epoch and (self._broken or position < self._matched)
            if not passed and (held is None or held.epoch < drafts.epoch):
                self._entries[position] = Draft(drafts.epoch, token, distribution)
        if drafts.epoch > self.epoch:
            self._epochs.add(drafts.epoch)
        self.follow(settled)

    def follow(self, settled: Sequence[int]) -> None:
        """Compare the queued drafts with all final tokens, and move to a newer chain of drafts once its first position
        is reached.
        """
        self._match(settled)
        if newer := [epoch for epoch in self._epochs if epoch <= len(settled)]:
            self._begin(max(newer), max(newer))
            self._match(settled)

    def at(self, position: int) -> Draft | None:
        """Return the draft at `position`, the next one to decide, if its chain has been correct so far; else None."""
        held = self._entries.get(position)
        return held if self._matched == position and not self._broken else None

    def handed(self, epoch: int, position: int) -> None:
        """Use the other side's chain `epoch` of drafts from now on, because the other side handed over the role of
        deciding tokens. The tokens before `position` are final.
        """
        self._begin(epoch, position)

    def supply(self, position: int, distribution: Top) -> None:
        """Replace the distribution of the draft at `position` by the given one, if that holds more tokens."""
        held = self.at(position)
        if held and isinstance(held.distribution, Top) and len(distribution.ids) > len(held.distribution.ids):
            self._entries[position] = Draft(held.epoch, held.token, distribution)

    def _begin(self, epoch: int, position: int) -> None:
        self.epoch, self._matched, self._broken = epoch, position, False
        self._epochs = {number for number in self._epochs if number > epoch}
        for at in [at for at, held in self._entries.items() if at < position or held.epoch < epoch]:
            del self._entries[at]

    def _match(self, settled: Sequence[int]) -> None:
        while not self._broken and self._matched < len(settled):
            held = self._entries.get(self._matched)
            if held is None or held.epoch != self.epoch:
                return
            del self._entries[self._matched]
            right = held.token == settled[self._matched]
            self.judged.add(accepted=right)
            self._broken = not right
            self._matched += right

    def _check(self, drafts: Drafts, settled: int) -> None:
        end = drafts.position + len(drafts.tokens)
        if not (0 <= drafts.epoch <= drafts.position and 0 < len(drafts.tokens) <= self._ahead):
            raise ProtocolError(
                CloseCode.ORDER, "A message has no drafts, too many drafts, or drafts for positions before their epoch."
            )
        # Distributions are large, so that the bound is tight: a side knows of no more settled tokens than the other has
        # drafted.
        furthest = self._max_tokens if self._rule == "coupled" else min(settled + 2 * self._ahead, self._max_tokens)
        if end > furthest:
            raise ProtocolError(
                CloseCode.ORDER, f"A draft came for position {end - 1}; the last allowed is {furthest - 1}."
            )
        if not all(0 <= token < self._vocabulary for token in drafts.tokens):
            raise ProtocolError(CloseCode.MALFORMED, "A drafted token lies outside the vocabulary.")
        kinds: dict[Rule, type[Distribution] | None] = {"coupled": None, "algorithm1": Quantised, "greedy": Top}
        kind, given = kinds[self._rule], drafts.distributions
        fits = (
            not given
            if kind is None
            else len(given) == len(drafts.tokens) and all(isinstance(distribution, kind) for distribution in given)
        )
        if not fits or any(int(distribution.ids[-1]) >= self._vocabulary for distribution in given):
            raise ProtocolError(CloseCode.MALFORMED, "The drafts' distributions do not fit the rule or the vocabulary.")
        for token, distribution in zip(drafts.tokens, given, strict=False):
            if isinstance(distribution, Quantised) and not distribution.count(token):
                raise ProtocolError(CloseCode.MALFORMED, "A drafted token has probability 0 in its own distribution.")
