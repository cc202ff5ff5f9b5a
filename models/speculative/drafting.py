"""Decides whether tokens are drafted for an engine's answers, and holds the draft of one answer.

Each token is drawn from `AnswerDraft.mixture` as without drafts. A drawn token that equals the drafted token costs no
pass; at the first other token, the rest of the draft is dropped. The text is therefore the same as without drafts, at
every temperature and under every sampling rule, if passes over several tokens are exact.
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
"""The costs assumed in mode `lookup` before any are measured: those of 1.7B weights on two cores."""


@dataclass(slots=True)
class Drafting:
    """Decides whether tokens are drafted for an engine's answers, by the costs of its passes.

    `auto` drafts if that saves time and leaves the text the same to the bit; `lookup` drafts if that saves time.
    `acceptance` holds the share of drafted tokens that were accepted.
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
        """Return the costs for choosing drafts; None if nothing is drafted.

        An engine that recomputes tokens after a rollback gains nothing from drafts.
        """
        if not info.sliceable or "rollback" in info.inexact:
            return None
        if self.mode == "lookup":
            return self.costs or _UNMEASURED
        return self.costs if self.mode == "auto" and self.costs and self.costs.is_exact else None

    @property
    def is_unmeasured(self) -> bool:
        """Whether drafting is on, but the costs of passes are not measured yet."""
        return self.mode != "off" and self.costs is None and self.known is not None

    def measure(self, engine: Engine) -> PassCosts:
        """Measure the costs, which empties the engine's sequences, and store them. Raises EngineError, GaveWay."""
        self.costs = measured(engine)
        if self.known:
            self.known.keep(self.costs)
        return self.costs


class AnswerDraft:
    """The tokens drafted for one answer, some of them verified: computed by the model before they are drawn.

    `mixture` holds the log probabilities of the answer's next token, shape (vocabulary,).
    """

    def __init__(self, texts: Sequence[Sequence[int]], mixture: Logits, acceptance: Acceptance) -> None:
        """Start without a draft. `texts` are the tokens in the answer's rows; the answer continues the last text."""
        self.mixture = mixture
        self._lookup, self._acceptance = Lookup(texts), acceptance
        self._draft = Draft()
        self._verified: list[Logits] = []  # the mixtures after the draft's tokens

    @property
    def pending(self) -> int:
        """The number of tokens that are verified and not drawn yet."""
        return len(self._verified)

    def accept(self, token: int) -> bool:
        """Record a drawn token. Return whether it was verified as a draft: then `mixture` is now the one after it."""
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
        """Drop the verified tokens that are not drawn yet."""
        self._draft, self._verified = Draft(), []

    def propose(self, most: int) -> tuple[tuple[int, ...], list[float]]:
        """Draft at most `most` next tokens. Return them and each one's chance to be accepted if all before it are."""
        self._draft = self._lookup.draft(min(most, LONGEST_DRAFT))
        matched = self._draft.matched
        return self._draft.tokens, [
            self._acceptance.chance(matched + place) for place in range(len(self._draft.tokens))
        ]

    def verified(self, mixtures: Sequence[Logits]) -> None:
        """Store the mixtures after the last drawn token and after each verified token of the proposed draft."""
        self.mixture, *self._verified = mixtures
        self._draft = Draft(self._draft.tokens[: len(self._verified)], self._draft.matched)
