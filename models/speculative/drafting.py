"""Decides whether an engine's answers are drafted, and keeps what is drafted for one answer.

Each token is drawn from `AnswerDraft.mixture` as without drafts. A drawn token that equals the drafted one costs no
pass; at the first other token, the rest of the draft is dropped. So the text is that of no drafting, at every
temperature and under every sampling rule, wherever passes over several tokens are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from models.engine import Engine, EngineInfo, Logits
from models.speculative.choice import Acceptance
from models.speculative.costs import KnownCosts, PassCosts, measured
from models.speculative.lookup import Draft, Lookup

DraftMode = Literal["auto", "off", "lookup"]

LONGEST_DRAFT = 15
"""The most tokens drafted for a pass."""

_UNMEASURED = PassCosts(((1, 1.0), (4, 1.4), (16, 4.0)), is_exact=False)
"""Costs for drafting before any were measured, where drafting is asked for: those of 1.7B weights on two cores."""


@dataclass(slots=True)
class Drafting:
    """Whether an engine's answers are drafted, by the costs of its passes and the shares that are accepted.

    `auto` drafts where it pays and the text stays the same to the bit; `lookup` drafts wherever it pays.
    """

    mode: DraftMode = "off"
    known: KnownCosts | None = None
    costs: PassCosts | None = None
    acceptance: Acceptance = field(default_factory=Acceptance)

    def __post_init__(self) -> None:
        """Load the costs that were measured earlier."""
        if self.known and self.mode != "off":
            self.costs = self.known.load()

    def used_costs(self, info: EngineInfo) -> PassCosts | None:
        """Return the costs by which drafts are chosen; None where nothing is drafted.

        An engine that computes anew what is rolled back gains nothing by drafts.
        """
        if not info.sliceable or "rollback" in info.inexact:
            return None
        if self.mode == "lookup":
            return self.costs or _UNMEASURED
        return self.costs if self.mode == "auto" and self.costs and self.costs.is_exact else None

    @property
    def is_unmeasured(self) -> bool:
        """Whether drafting waits for the costs to be measured."""
        return self.mode != "off" and self.costs is None and self.known is not None

    def measure(self, engine: Engine) -> PassCosts:
        """Measure the costs on an engine whose sequences are emptied, and keep them. Raises EngineError, GaveWay."""
        self.costs = measured(engine)
        if self.known:
            self.known.keep(self.costs)
        return self.costs


class AnswerDraft:
    """The tokens drafted for one answer, of which some are verified before they are drawn.

    `mixture` holds the log probabilities of the answer's next token, shape (vocabulary,).
    """

    def __init__(self, texts: Sequence[Sequence[int]], mixture: Logits, acceptance: Acceptance) -> None:
        """`texts` are the tokens that the answer's rows hold; the answer goes on behind the last."""
        self.mixture = mixture
        self._lookup, self._acceptance = Lookup(texts), acceptance
        self._draft = Draft()
        self._verified: list[Logits] = []  # the mixtures after the draft's tokens

    @property
    def pending(self) -> int:
        """Return how many tokens are verified and not drawn yet."""
        return len(self._verified)

    def accept(self, token: int) -> bool:
        """Record a drawn token. Return whether it was drafted: then `mixture` is already the one after it."""
        self._lookup.append([token])
        if not self._verified:
            return False
        is_accepted = self._draft.tokens[0] == token
        self._acceptance.learn(self._draft.matched, is_accepted=is_accepted)
        if is_accepted:
            self._draft = Draft(self._draft.tokens[1:], self._draft.matched + 1)
            self.mixture = self._verified.pop(0)
        else:
            self.drop()
        return is_accepted

    def drop(self) -> None:
        """Drop what is verified and not drawn."""
        self._draft, self._verified = Draft(), []

    def propose(self, most: int) -> tuple[tuple[int, ...], list[float]]:
        """Draft at most `most` tokens to follow; return them, and for each the chance that it is accepted next."""
        self._draft = self._lookup.draft(min(most, LONGEST_DRAFT))
        matched = self._draft.matched
        return self._draft.tokens, [
            self._acceptance.chance(matched + place) for place in range(len(self._draft.tokens))
        ]

    def verified(self, mixtures: Sequence[Logits]) -> None:
        """Take the mixtures after the token drawn last and after each verified token of the proposed draft."""
        self.mixture, *self._verified = mixtures
        self._draft = Draft(self._draft.tokens[: len(self._verified)], self._draft.matched)
