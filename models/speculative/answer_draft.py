"""The draft of one answer: tokens that probably come next, and those of them that the model has verified.

Each token is drawn from `AnswerDraft.mixture` as without drafts. A drawn token that equals the drafted token costs no
pass; at the first other token, the rest of the draft is dropped. The text is therefore the same as without drafts, at
every temperature and under every sampling rule, if passes over several tokens are exact.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from models.decoder import Decoder
from models.engine import Logits
from models.speculative.choice import Acceptance, pace, repays
from models.speculative.draft_model import DraftModel
from models.speculative.drafter import Draft, Drafter
from models.speculative.lookup import Lookup
from shared.errors import GaveWay
from shared.trace import DraftCounts

LONGEST_DRAFT: Final = 15
"""The most tokens that are drafted for a pass; of a draft tree, the most tokens on one path."""

Cost = Callable[[int], float]
"""A function that returns the time of a pass over a number of tokens, relative to a pass over one token."""


@dataclass(slots=True, eq=False)
class _Source:
    """A drafter of the answer, how often it was right, and the rest of its last draft."""

    drafter: Drafter
    learned: Acceptance | DraftModel
    draft: Draft = field(default_factory=Draft)

    @property
    def chances(self) -> list[float]:
        """The chance of each drafted token to be accepted if all before it are accepted."""
        return [self.learned.chance(degree) for degree in self.draft.degrees]

    def judge(self, token: int) -> bool:
        """Compare a drawn token with the draft: count it as right or wrong, and return whether it was right. A wrong
        draft is dropped.

        Tokens that were drafted but not verified are counted, too; otherwise a low share of right drafts would never
        rise again.
        """
        if not self.draft.tokens:
            return False
        is_right = self.draft.tokens[0] == token
        self.learned.learn(self.draft.degrees[0], is_accepted=is_right)
        self.draft = self.draft.rest if is_right else Draft()
        return is_right


class AnswerDraft:
    """The tokens drafted for one answer. Some of them are verified: the model has computed them before they are drawn.

    `mixture` holds the log probabilities of the answer's next token, shape (vocabulary,). `spent` is the time that the
    last draft took, relative to a pass over one token.
    """

    def __init__(
        self,
        texts: Sequence[Sequence[int]],
        decoder: Decoder,
        acceptance: Acceptance,
        model: DraftModel | None = None,
        counts: DraftCounts | None = None,
    ) -> None:
        """Start without a draft. `texts` are the tokens in the answer's sequences; the answer continues the last text.

        `decoder` computes the answer; dropped tokens that were verified are removed from it. `acceptance` counts how
        often tokens drafted by prompt lookup were right; `model` drafts, too, where that pays. The model's drafted and
        accepted tokens are added to `counts`.
        """
        self.mixture, self.spent = decoder.mixture, 0.0
        self._decoder, self._model = decoder, model if model and model.drafts and texts else None
        self._counts = counts or DraftCounts()
        self._sources = [_Source(Lookup(texts), acceptance)]
        if self._model:
            self._sources.append(_Source(self._model.begin(texts[-1]), self._model))
        self._proposed = self._sources[0]
        self._written = 0
        self._verified: list[Logits] = []  # the mixtures after the draft's tokens

    @property
    def pending(self) -> int:
        """The number of verified tokens that are not drawn yet."""
        return len(self._verified)

    def accept(self, token: int) -> bool:
        """Record a drawn token. Return whether it had been verified as a draft: then `mixture` is already the one after
        it.
        """
        is_right = self._judge(token)
        for source in self._sources:
            source.drafter.append(token)
        self._written += 1
        if not (is_right and self._verified):
            self.drop()
            return False
        self._counts.model_accepted += self._is_models
        self.mixture = self._verified.pop(0)
        return True

    def end(self, token: int) -> None:
        """Record the drawn token that ends the answer, and drop all verified tokens, this token included."""
        self._judge(token)
        self.drop()

    def close(self) -> None:
        """Drop the verified tokens that were not drawn, and record how long the answer was."""
        self.drop()
        if self._model:
            self._model.ended(self._written)

    def drop(self) -> None:
        """Drop the verified tokens that are not drawn yet."""
        pending = self.pending
        self._verified = []
        for source in self._sources:
            source.draft = Draft()
        if pending:
            self._decoder.cut(self._decoder.position - pending)

    def propose(self, most: int, cost: Cost | None = None, left: int = 0) -> tuple[tuple[int, ...], list[float]]:
        """Draft at most `most` next tokens. Return them and the chance of each to be accepted if all before it are
        accepted.

        Tokens are drafted by prompt lookup. With the `cost` of passes, and at most `left` tokens to follow in the
        answer, the drafting model is used instead if more tokens per unit of time are expected from it.
        """
        most, self.spent = max(0, min(most, LONGEST_DRAFT)), 0.0
        lookup = self._proposed = self._sources[0]
        lookup.draft = lookup.drafter.draft(most)
        if cost and self._model and self._model.drafts:
            with self._going_on(self._model):
                self._consult(self._model, most, cost, left)
        return self._proposed.draft.tokens, self._proposed.chances

    def verified(self, mixtures: Sequence[Logits]) -> None:
        """Store the next-token log probabilities after the last drawn token and after each verified token of the
        proposed draft.
        """
        self.mixture, *self._verified = mixtures
        self._counts.model_drafted += self._is_models * len(self._verified)
        if self._model:
            with self._going_on(self._model):
                self._sources[1].drafter.passed(self._decoder.sequences[0])

    @property
    def _is_models(self) -> bool:
        return self._proposed is not self._sources[0]

    def _consult(self, model: DraftModel, most: int, cost: Cost, left: int) -> None:
        """Let the model draft if that is expected to pay (see `propose`), and propose the better of the two drafts.

        The model stops before a token that is reached so rarely that plain decoding would use the time better.
        """
        costs, rows, (lookup, source) = model.costs, len(self._decoder.sequences), self._sources
        if costs is None:
            return
        unread, room = source.drafter.unread, rows * (1 + most)
        reading = costs.reading(unread)
        _, alone = pace(lookup.chances, rows, cost, room)
        count, hoped = pace([model.typical] * most, rows, cost, room, costs.step)
        if not repays(alone, hoped, min(left, model.left(self._written)), reading):
            return
        began = time.perf_counter()
        source.draft = source.drafter.draft(count, costs.step * hoped)
        still_unread = source.drafter.unread
        if not source.draft.tokens and still_unread == unread:
            return
        self._counts.model, self._counts.model_ms = model.name, self._counts.model_ms + _milliseconds(began)
        self._counts.model_read += unread - still_unread
        self.spent = costs.step * len(source.draft.tokens)
        self._counts.cost += (self.spent + reading - costs.reading(still_unread)) / cost(rows)
        self._proposed = max(self._sources, key=lambda each: pace(each.chances, rows, cost, room)[1])

    @contextmanager
    def _going_on(self, model: DraftModel) -> Iterator[None]:
        """Go on without the drafting model if it fails in the `with` block: it may fail in any way."""
        try:
            yield
        except GaveWay:
            raise
        except Exception as error:
            model.fail(error)
            self._counts.model_failed = model.failed
            if self.pending:  # they may be tokens that this model drafted
                self.drop()
            lookup = self._sources[0]
            self._model, self._sources, self._proposed, self.spent = None, [lookup], lookup, 0.0

    def _judge(self, token: int) -> bool:
        """Record which drafts a drawn token proves right; return whether the proposed draft was right."""
        proposed = self._proposed
        right = [source for source in self._sources if source.judge(token)]
        return proposed in right


def _milliseconds(began: float) -> float:
    return 1000 * (time.perf_counter() - began)
