"""A decoder that generates one answer in fewer passes of the model; the caller still draws token by token."""

from functools import partial
from typing import Self

from models.decoder import Decoder
from models.engine import Engine, Logits
from models.speculative.choice import shares
from models.speculative.drafting import Drafting
from shared.errors import ContextFull
from shared.trace import DraftCounts


class DraftingDecoder:
    """A `Decoder` that computes drafted tokens, which will probably follow, in the same pass as each drawn token.

    Use it as a context manager: leaving the block drops the drafted tokens that were not drawn.
    """

    def __init__(self, decoder: Decoder, engine: Engine, drafting: Drafting, most: int, counts: DraftCounts) -> None:
        """Create the decoder. The caller draws at most `most` tokens in all; drafted and accepted tokens are added to
        `counts`.
        """
        self._decoder, self._engine = decoder, engine
        self._costs = drafting.costs_if_used(engine)
        self._left, self._counts = most, counts
        # The first row comes last, as the answer continues it.
        texts = [engine.tokens(row) for row in reversed(decoder.sequences)] if self._costs else []
        self._drafts = drafting.answer(texts, decoder, counts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind in (None, GeneratorExit):
            self._drafts.close()
        else:  # of an answer that failed, the length says nothing
            self._drafts.drop()

    @property
    def mixture(self) -> Logits:
        """The log probabilities of the next token, up to a constant; shape (vocabulary,)."""
        return self._drafts.mixture

    def append(self, token: int) -> Logits:
        """Append the drawn token to all sequences of the answer; return the log probabilities of the token after it. On
        ContextFull, nothing has changed.
        """
        if self._drafts.accept(token):
            self._counts.accepted += 1
        else:
            self._drafts.verified(self._computed(token))
        self._left -= 1
        return self.mixture

    def end(self, token: int) -> None:
        """Record the drawn token that ends the answer, which is not computed."""
        self._drafts.end(token)

    def _computed(self, token: int) -> list[Logits]:
        """Compute the token and a draft of the tokens after it; return the next-token log probabilities after each."""
        if self._costs is None:
            return [self._decoder.append(token)]
        rows = len(self._decoder.sequences)
        most = self._engine.info.verifies
        cost = partial(self._costs.ratio, context=sum(map(self._engine.length, self._decoder.sequences)))
        left = self._left - 2  # the last token of an answer is drawn, but never computed
        draft, chances = self._drafts.propose(min(left, most // rows - 1), cost, left)
        (count,) = shares([chances], [rows], cost, most, self._drafts.spent)
        draft = draft[:count]
        try:
            mixtures = self._decoder.append_all([token, *draft]) if draft else None
        except ContextFull:  # perhaps the token alone fits
            mixtures = None
        if mixtures is None:
            draft, mixtures = (), [self._decoder.append(token)]
        self._counts.passes += 1
        self._counts.drafted += len(draft)
        self._counts.cost += cost(rows * (1 + len(draft))) / cost(rows)
        return mixtures
