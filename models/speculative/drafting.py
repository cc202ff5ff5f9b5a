"""Writes an answer in fewer passes: tokens that a lookup drafts are verified together with the token just drawn.

The caller draws each token from `mixture` and appends it, as with a plain `Decoder`. A drawn token that equals the
drafted one costs no pass; at the first other token, the rest of the draft is cut off. So the text is that of no
drafting, at every temperature and under every sampling rule, wherever passes over several tokens are exact.
"""

from dataclasses import dataclass, field
from typing import Literal, Self

from models.decoder import Decoder
from models.engine import Engine, EngineInfo, Logits
from models.speculative.choice import Acceptance, length
from models.speculative.costs import KnownCosts, PassCosts, measured
from models.speculative.lookup import Draft, Lookup
from shared.errors import ContextFull
from shared.trace import DraftCounts

DraftMode = Literal["auto", "off", "lookup"]

LONGEST_DRAFT = 15
"""The most tokens drafted for a pass."""

_UNMEASURED = PassCosts(((1, 1.0), (4, 1.4), (16, 4.0)), is_exact=False)
"""Costs for drafting before any were measured, where drafting is asked for: those of 1.7B weights on two cores."""


@dataclass(slots=True)
class Drafting:
    """Decides whether an engine's answers are drafted, by the costs of its passes, and counts what is accepted.

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
        """Measure the costs on an engine whose sequences are empty, and keep them. Raises EngineError, GaveWay."""
        self.costs = measured(engine)
        if self.known:
            self.known.keep(self.costs)
        return self.costs

    def decoder(self, decoder: Decoder, engine: Engine, most: int, counts: DraftCounts) -> "DraftingDecoder":
        """Return a decoder that drafts for an answer of at most `most` more tokens."""
        return DraftingDecoder(decoder, engine, self.acceptance, self.used_costs(engine.info), most, counts)


class DraftingDecoder:
    """Reads an answer's tokens as a `Decoder` does, and computes the tokens that are likely to follow with them.

    Use it with `with`, which drops what was drafted and not drawn.
    """

    def __init__(
        self,
        decoder: Decoder,
        engine: Engine,
        acceptance: Acceptance,
        costs: PassCosts | None,
        most: int,
        counts: DraftCounts,
    ) -> None:
        self.mixture = decoder.mixture
        self._decoder, self._engine = decoder, engine
        self._acceptance, self._costs = acceptance, costs
        self._left, self._counts = most, counts
        rows = decoder.sequences
        # The first row's prompt last: the answer goes on behind it.
        self._lookup = Lookup([engine.tokens(row) for row in reversed(rows)]) if costs else None
        self._rows = len(rows)
        self._draft = Draft()
        self._verified: list[Logits] = []  # the mixtures after the draft's tokens
        self._position = decoder.position

    def append(self, token: int) -> Logits:
        """Read the next token in all rows; return the mixture after it. Raises ContextFull, with nothing changed."""
        if self._lookup:
            self._lookup.append([token])
        is_accepted = bool(self._draft.tokens) and self._draft.tokens[0] == token
        if self._draft.tokens:
            self._acceptance.learn(self._draft.matched, is_accepted=is_accepted)
        if is_accepted:
            self._draft = Draft(self._draft.tokens[1:], self._draft.matched + 1)
            self.mixture = self._verified.pop(0)
            self._counts.accepted += 1
        else:
            self.cut()
            self.mixture, *self._verified = self._computed(token)
        self._position += 1
        self._left -= 1
        return self.mixture

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def cut(self) -> None:
        """Drop what was drafted and not drawn."""
        self._draft, self._verified = Draft(), []
        if self._decoder.position > self._position:
            self._decoder.cut(self._position)

    def _computed(self, token: int) -> list[Logits]:
        """Compute the token and a draft of what follows; return the mixtures after each."""
        draft = self._drafted()
        try:
            mixtures = self._decoder.append_all([token, *draft.tokens]) if draft.tokens else None
        except ContextFull:  # perhaps the token alone fits
            mixtures = None
        if mixtures is None:
            draft, mixtures = Draft(), [self._decoder.append(token)]
        self._draft = draft
        if self._costs:
            self._counts.passes += 1
            self._counts.drafted += len(draft.tokens)
            self._counts.cost += self._cost(1 + len(draft.tokens))
        return mixtures

    def _drafted(self) -> Draft:
        """Return what to verify with the token: nothing where that takes longer than it is likely to save."""
        if self._lookup is None:
            return Draft()
        # The last token of an answer is drawn, but never read.
        most = min(self._left - 2, LONGEST_DRAFT, self._engine.info.verifies // self._rows - 1)
        draft = self._lookup.draft(most)
        count = length(draft.matched, len(draft.tokens), self._acceptance.chance, self._cost)
        return Draft(draft.tokens[:count], draft.matched)

    def _cost(self, tokens: int) -> float:
        """Return the time of a pass over so many tokens in each row, in passes over one in each."""
        assert self._costs
        return self._costs.ratio(self._rows * tokens) / self._costs.ratio(self._rows)
