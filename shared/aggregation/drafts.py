"""Drafts of either side: this side's own chain, and the queue of what arrived of the other's.

A draft is used only where every draft of its chain before it is what was settled; position alone says nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.aggregation.distribution import Distribution, Quantised, Top
from shared.aggregation.messages import Draft, Drafts, Rule
from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode


@dataclass(slots=True)
class Judged:
    """Drafts that came in time to be compared with what was settled, and those of them that were the same."""

    drafts: int = 0
    accepted: int = 0

    def add(self, *, accepted: bool) -> None:
        """One more."""
        self.drafts += 1
        self.accepted += accepted


class Chain:
    """This side's drafts since it was last rolled back; those at settled positions are what was settled."""

    def __init__(self) -> None:
        self.epoch = 0
        self.judged = Judged()
        self._tokens: list[int] = []
        self._distributions: dict[int, Distribution] = {}

    @property
    def end(self) -> int:
        """The position of the next draft."""
        return self.epoch + len(self._tokens)

    def append(self, token: int, distribution: Distribution | None) -> None:
        """The next draft."""
        if distribution is not None:
            self._distributions[self.end] = distribution
        self._tokens.append(token)

    def at(self, position: int) -> Draft | None:
        """The draft there, if it is made; its distribution only as long as it is not settled."""
        if not self.epoch <= position < self.end:
            return None
        return Draft(self.epoch, self._tokens[position - self.epoch], self._distributions.get(position))

    def supply(self, position: int, distribution: Top) -> bool:
        """More is known of that distribution; False where it is not needed any more."""
        if position not in self._distributions:
            return False
        self._distributions[position] = distribution
        return True

    def since(self, position: int) -> tuple[tuple[int, ...], tuple[Distribution, ...]]:
        """Drafts from there on, and their distributions."""
        span = range(max(position, self.epoch), self.end)
        kept = tuple(self._distributions[at] for at in span if at in self._distributions)
        return tuple(self._tokens[span.start - self.epoch :]), kept

    def follow(self, position: int, token: int) -> None:
        """That is settled; drafts on another token are void."""
        held = self.at(position)
        if held is not None:
            self.judged.add(accepted=held.token == token)
            if held.token != token:
                for at in range(position, self.end):
                    self._distributions.pop(at, None)
                del self._tokens[position - self.epoch :]
        self._distributions.pop(position, None)

    def restart(self, epoch: int) -> None:
        """Draft again behind what is settled."""
        self.epoch = epoch
        self._tokens.clear()
        self._distributions.clear()


class DraftQueue:
    """The other side's drafts, in whatever order they arrive.

    Older epochs are dropped, duplicates ignored, future ones kept within bounds. Whatever is no draft that an honest
    side could make raises ProtocolError and changes nothing.
    """

    def __init__(self, rule: Rule, vocabulary: int, max_tokens: int, ahead: int) -> None:
        """No side drafts more than `ahead` tokens beyond what it knows to be settled."""
        self.epoch = 0
        self.judged = Judged()
        self._rule, self._vocabulary, self._max_tokens, self._ahead = rule, vocabulary, max_tokens, ahead
        self._entries: dict[int, Draft] = {}
        self._epochs: set[int] = set()  # heard of, and newer
        self._matched = 0  # of this epoch, all before are what was settled
        self._broken = False

    def __len__(self) -> int:
        """Drafts kept."""
        return len(self._entries)

    def put(self, drafts: Drafts, settled: Sequence[int]) -> None:
        """Take in what arrived. Raises ProtocolError."""
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
        """Compare with what was settled, and go over to a newer chain where that begins."""
        self._match(settled)
        if newer := [epoch for epoch in self._epochs if epoch <= len(settled)]:
            self._begin(max(newer), max(newer))
            self._match(settled)

    def at(self, position: int) -> Draft | None:
        """The draft there, if it is of a chain that was right so far, up to the last settled token."""
        held = self._entries.get(position)
        return held if self._matched == position and not self._broken else None

    def handed(self, epoch: int, position: int) -> None:
        """The other side drafts again, from there on, and was right so far: it aggregated until now."""
        self._begin(epoch, position)

    def supply(self, position: int, distribution: Top) -> None:
        """More is known of the distribution of the draft there."""
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
            raise ProtocolError(CloseCode.ORDER, "Drafts came that begin before their chain, are none, or too many.")
        # With distributions, which are large: the other side knows no more to be settled than this side has drafted.
        furthest = self._max_tokens if self._rule == "coupled" else min(settled + 2 * self._ahead, self._max_tokens)
        if end > furthest:
            raise ProtocolError(
                CloseCode.ORDER, f"A draft came for position {end - 1}; the last allowed is {furthest - 1}."
            )
        if not all(0 <= token < self._vocabulary for token in drafts.tokens):
            raise ProtocolError(CloseCode.MALFORMED, "A draft is no token of the vocabulary.")
        kinds: dict[Rule, type[Distribution] | None] = {"coupled": None, "algorithm1": Quantised, "greedy": Top}
        kind, given = kinds[self._rule], drafts.distributions
        fits = (
            not given
            if kind is None
            else len(given) == len(drafts.tokens) and all(isinstance(distribution, kind) for distribution in given)
        )
        if not fits or any(int(distribution.ids[-1]) >= self._vocabulary for distribution in given):
            raise ProtocolError(CloseCode.MALFORMED, "Drafts came with other distributions than the rule asks for.")
        for token, distribution in zip(drafts.tokens, given, strict=False):
            if isinstance(distribution, Quantised) and not distribution.count(token):
                raise ProtocolError(CloseCode.MALFORMED, "A draft came that its distribution cannot have given.")
