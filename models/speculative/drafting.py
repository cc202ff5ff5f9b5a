"""Decides whether tokens are drafted for an engine's answers, and holds the draft of one answer.

Each token is drawn from `AnswerDraft.mixture` as without drafts. A drawn token that equals the drafted token costs no
pass; at the first other token, the rest of the draft is dropped. The text is therefore the same as without drafts, at
every temperature and under every sampling rule, if passes over several tokens are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from models.decoder import Decoder
from models.engine import Engine, EngineInfo, Logits
from models.speculative.choice import Acceptance
from models.speculative.costs import KnownCosts, PassCosts, Samples, is_steady, measured
from models.speculative.lookup import Draft, Lookup

DraftMode = Literal["auto", "off", "lookup"]

LONGEST_DRAFT = 15
"""The most tokens drafted for a pass."""


@dataclass(slots=True)
class Drafting:
    """Decides whether tokens are drafted for an engine's answers, by the measured costs of its passes.

    `auto` drafts if that saves time and leaves the text the same to the bit; `lookup` drafts if that saves time.
    `acceptance` holds the share of drafted tokens that were right.
    """

    mode: DraftMode = "off"
    known: KnownCosts | None = None
    costs: PassCosts | None = None
    acceptance: Acceptance = field(default_factory=Acceptance)
    _samples: Samples = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load the costs that were measured earlier."""
        self._load()

    def may(self, info: EngineInfo) -> bool:
        """Return whether drafting is on, and possible: an engine that recomputes after a rollback gains nothing."""
        return self.mode != "off" and info.sliceable and "rollback" not in info.inexact

    def is_worth_it(self, info: EngineInfo) -> bool:
        """Return whether answers are drafted with this engine: costs are measured, and `auto` needs exact passes."""
        return self.may(info) and self.costs is not None and (self.mode == "lookup" or self.costs.is_exact)

    def used_costs(self, engine: Engine) -> PassCosts | None:
        """Return the costs for choosing drafts now; None if nothing is drafted.

        `auto` drafts only while one sequence holds tokens: a rejected draft frees cells of the shared KV buffer, and
        another sequence that fills them sums in another order.
        """
        if not self.is_worth_it(engine.info):
            return None
        held = sum(engine.length(sequence) > 0 for sequence in range(engine.info.sequences))
        return self.costs if self.mode == "lookup" or held == 1 else None

    def is_unmeasured(self, info: EngineInfo) -> bool:
        """Return whether `measure` is needed, once no other process has measured the costs."""
        if not self.may(info) or self.known is None:
            return False
        self._load()
        return self.costs is None

    def measure(self, engine: Engine) -> PassCosts:
        """Measure the costs, which empties the engine's sequences. Raises EngineError, GaveWay.

        They are stored unless other processes disturbed the measurement.
        """
        self.costs = measured(engine, self._samples)
        if self.known and is_steady(self._samples):
            self.known.keep(self.costs)
        self._samples.clear()
        return self.costs

    def _load(self) -> None:
        if self.known and self.costs is None and self.mode != "off":
            self.costs = self.known.load()


class AnswerDraft:
    """The tokens drafted for one answer, some of them verified: computed by the model before they are drawn.

    `mixture` holds the log probabilities of the answer's next token, shape (vocabulary,).
    """

    def __init__(self, texts: Sequence[Sequence[int]], decoder: Decoder, acceptance: Acceptance) -> None:
        """Start without a draft. `texts` are the tokens in the answer's rows; the answer continues the last text.

        `decoder` computes the answer; verified tokens that are dropped are cut off it.
        """
        self.mixture = decoder.mixture
        self._lookup, self._decoder, self._acceptance = Lookup(texts), decoder, acceptance
        self._draft = Draft()
        self._verified: list[Logits] = []  # the mixtures after the draft's tokens

    @property
    def pending(self) -> int:
        """The number of tokens that are verified and not drawn yet."""
        return len(self._verified)

    def accept(self, token: int) -> bool:
        """Record a drawn token. Return whether it was verified as a draft: then `mixture` is now the one after it."""
        self._lookup.append([token])
        if not (self._learn(token) and self._verified):
            self.drop()
            return False
        self._draft = Draft(self._draft.tokens[1:], self._draft.matched + 1)
        self.mixture = self._verified.pop(0)
        return True

    def end(self, token: int) -> None:
        """Record the drawn token that ends the answer, and drop what is verified, this token included."""
        self._learn(token)
        self.drop()

    def drop(self) -> None:
        """Drop the verified tokens that are not drawn yet."""
        pending = self.pending
        self._draft, self._verified = Draft(), []
        if pending:
            self._decoder.cut(self._decoder.position - pending)

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

    def _learn(self, token: int) -> bool:
        """Learn from a drawn token whether the draft was right, and return that.

        A token that was drafted and not verified teaches, too: else a low share would never rise again.
        """
        is_right = self._draft.tokens[:1] == (token,)
        if self._draft.tokens:
            self._acceptance.learn(self._draft.matched, is_accepted=is_right)
        return is_right
