"""One answer being generated: its prompts (`Job.rows`) are prefilled in chunks, one after the other, then its tokens
are drawn.

The batch decodes the drawn tokens of all its answers together. A joint answer, which a device drafts too, is drafted
ahead and rolled back at a rejected token (DRAGON, section 4.1). Answers are independent of each other.
"""

import codecs
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloud_server.engine.jobs import Done, Draft, EngineEvent, Job, Supplied, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.decoder import Decoder, log_probability
from models.drafts import draft, likeliest
from models.engine import Engine, Logits
from models.sampling import sample
from models.speculative.answer_draft import AnswerDraft, Cost
from models.speculative.drafting import Drafting
from shared.aggregation.messages import Rule
from shared.ending import Ending, Piece
from shared.errors import EngineError


class Answer:
    """An answer being generated: a job, which has one sequence of the engine for each of its prompts (rows). Tokens are
    drawn up to the absolute index `allowed`. `key` identifies the answer in its events; `owner` is the name of the
    access token that asked for it.

    `prefilled` and `joined` count the prompt tokens that were computed and those taken from the prefix cache;
    `accepted` counts the drafted tokens that were drawn.
    """

    def __init__(
        self,
        engine: Engine,
        prefixes: PrefixCache,
        key: int,
        job: Job,
        sequences: Sequence[int],
        allowed: int,
        owner: str,
        drafting: Drafting | None = None,
    ) -> None:
        """Begin an answer. With `drafting`, tokens are drafted and verified together, except for a joint answer, which
        is drafted ahead.
        """
        self.key, self.job, self.sequences, self.allowed, self.owner = key, job, tuple(sequences), allowed, owner
        self.prefilled = self.joined = self.accepted = 0
        self._engine, self._prefixes = engine, prefixes
        self._drafting = None if job.rule else drafting
        self._drafts: AnswerDraft | None = None
        self._behind: dict[int, Logits] = {}  # by sequence: the logits after each row's prompt
        self._waiting: list[int] = []
        self._decoder: Decoder | None = None
        self._ending, self._text = Ending(), codecs.getincrementaldecoder("utf-8")("replace")
        self._drawn: list[int] = []
        self._tail = ""  # the end of the text generated here, which may be the beginning of a stop
        self._epoch = len(job.accepted)
        self._stands = self._epoch  # how many accepted tokens are still valid once the prompt is prefilled
        self._whole = False  # the last drawn token ends the answer and is not decoded
        self._drawn += job.accepted
        self._ending.go_on(job.accepted, self._text.decode(engine.detokenize(job.accepted)))

    @property
    def moving(self) -> bool:
        """Whether there is a token to decode or to draw now."""
        return bool(self._unread) or self._draws

    @property
    def paused(self) -> bool:
        """Whether the prompt is prefilled and the answer waits until the client allows more tokens."""
        return self._decoder is not None and not self.moving

    @property
    def unread(self) -> int:
        """The number of prompt tokens that are not prefilled yet: at least 1 before the prefill is complete, then 0."""
        return 0 if self._decoder else max(self.job.read_tokens - self.prefilled - self.joined, 1)

    @property
    def rest_of_job(self) -> Job:
        """A job that continues this answer with the tokens drawn so far.

        Its further tokens are the same as without the break, except in a joint answer.
        """
        return replace(self.job, accepted=tuple(self._drawn))

    def prefill(self, most: int) -> bool:
        """Prefill at most `most` tokens of the prompt. Return whether the whole prompt is prefilled. Raises
        EngineError.
        """
        sequence = self.sequences[len(self._behind)]
        if not self._waiting:
            self._begin(len(self._behind))
        part, self._waiting = self._waiting[:most], self._waiting[most:]
        logits = self._engine.prefill(sequence, part)
        self.prefilled += len(part)
        if self._waiting:
            return False
        self._prefixes.keep(self._engine, sequence, self.job.rows[len(self._behind)])
        self._behind[sequence] = logits
        if len(self._behind) < len(self.sequences):
            return False
        kept = self.job.ahead if self.job.rule == "greedy" else 0
        weights = np.array(self.job.log_weights, np.float32)
        self._decoder = Decoder(self._engine, self._behind, weights, written=len(self.job.accepted), ahead=kept)
        self._behind = {}  # free the logits: each is as large as the vocabulary
        if self._drafting:
            texts = [self._engine.tokens(row) for row in reversed(self.sequences)]
            self._drafts = self._drafting.answer(texts, self._decoder)
        self._cut(self._decoder, self._stands)
        return True

    def next_token(self) -> int | None:
        """Return the next token to decode, the same for each prompt (row); None if there is none. Pass its logits to
        `read`.

        If more tokens than rows are not decoded yet, decodes them all here, in fewer calls, and returns None. Raises
        EngineError.
        """
        if self._decoder and len(self._unread) > len(self.sequences):
            self._decoder.read(self._unread)
        return self._unread[0] if self._unread else None

    @property
    def spent(self) -> float:
        """The time that the last draft took, as a multiple of the time of a pass over one token."""
        return self._drafts.spent if self._drafts else 0.0

    def proposed(self, most: int, cost: Cost | None = None) -> tuple[tuple[int, ...], list[float]]:
        """Draft at most `most` tokens to follow the next token; return them and each draft's chance of acceptance.

        A draft model is used only if `cost`, the times of forward passes by number of tokens, is given.
        """
        if self._drafts is None:
            return (), []
        # Of the tokens that may still be drawn, the last need not be read.
        left = min(self.job.max_tokens, self.allowed) - len(self._drawn) - 1
        return self._drafts.propose(min(most, left), cost, left)

    def read(self, logits: Mapping[int, Sequence[Logits]]) -> None:
        """Use the logits that a pass computed for each row, after the token of `next_token` and after each drafted
        token verified with it.
        """
        assert self._decoder is not None
        mixtures = self._decoder.take_all({sequence: logits[sequence] for sequence in self.sequences})
        if self._drafts:
            self._drafts.verified(mixtures)

    def put_back(self) -> None:
        """After a failed decode, roll the sequences back to their state before it. Raises EngineError."""
        if self._decoder:
            self._decoder.cut(self._decoder.position)

    def draw(self) -> list[EngineEvent]:
        """Draw the answer's next tokens, as far as the client allows. They are drawn before they are decoded, so that
        clients get them one decode earlier.

        A final Done ends the answer. Raises EngineError if the logits are not finite.
        """
        if self._decoder is None or not self._draws:
            return []
        return [self._draft(self.job.rule, self._decoder.mixture)] if self.job.rule else self._write(self._decoder)

    def correct(self, keep: int, tokens: Sequence[int]) -> None:
        """Replace all tokens of a joint answer after its first `keep` by `tokens`. Raises EngineError, and changes
        nothing, if that is impossible.
        """
        fits = 0 <= keep <= len(self._drawn) and keep + len(tokens) <= self.job.max_tokens
        if not fits or not all(0 <= token < self._engine.info.vocabulary for token in tokens):
            raise EngineError("A token of the correction lies outside the vocabulary or beyond the answer's length.")
        if self._decoder and not tokens and keep <= self._decoder.position:
            self._decoder.mixture_at(keep)
        self._drawn[keep:] = tokens
        self._epoch = len(self._drawn)
        self._whole = self._epoch == self.job.max_tokens
        self._stands = min(self._stands, keep)
        if self._decoder:
            self._cut(self._decoder, keep)

    def supply(self, position: int, count: int) -> Supplied | None:
        """Return the `count` likeliest tokens of the distribution from which the token at `position` was drawn; None if
        it is no longer stored.
        """
        if self._decoder is None or not self._decoder.keeps(position):
            return None
        mixture, before = self._decoder.mixture_at(position), self._drawn[:position]
        return Supplied(self.key, position, likeliest(mixture, self.job.sampling, before, count))

    def clear(self) -> None:
        """Empty the answer's sequences."""
        for sequence in self.sequences:
            self._engine.clear(sequence)

    def _begin(self, row: int) -> None:
        """Begin one of the answer's prompts (rows): fork the prefix that it shares with the first row, join cached KV
        states, and queue the remaining tokens.
        """
        sequence, segments = self.sequences[row], self.job.rows[row]
        if row:
            self._engine.fork(self.sequences[0], sequence)
            self._engine.rollback(sequence, self._engine.length(sequence) - self.job.shared)
        self.joined += self._prefixes.join(self._engine, sequence, segments)
        tokens = [token for segment in segments for token in segment]
        self._waiting = [*tokens, *self.job.accepted][self._engine.length(sequence) :]

    @property
    def _unread(self) -> list[int]:
        """The drawn or accepted tokens that are not decoded yet."""
        return self._drawn[self._read_count : len(self._drawn) - self._whole] if self._decoder else []

    @property
    def _read_count(self) -> int:
        """How many of the drawn tokens are decoded."""
        pending = self._drafts.pending if self._drafts else 0
        return self._decoder.position - pending if self._decoder else 0

    @property
    def _draws(self) -> bool:
        here = self._decoder is not None and self._read_count == len(self._drawn)
        return here and not self._whole and len(self._drawn) < self.allowed

    def _cut(self, decoder: Decoder, position: int) -> None:
        if position < decoder.position:
            decoder.cut(position)

    def _draft(self, rule: Rule, mixture: Logits) -> Draft:
        position = len(self._drawn)
        token, distribution = draft(rule, "server", mixture, self.job.sampling, self._drawn)
        self._drawn.append(token)
        self._whole = self._engine.is_end(token) or position + 1 == self.job.max_tokens
        return Draft(self.key, self._epoch, position, token, distribution)

    def _write(self, decoder: Decoder) -> list[EngineEvent]:
        """Emit the next token, and further tokens that were already verified as drafts, up to the answer's end or the
        allowed index.
        """
        events: list[EngineEvent] = []
        while True:
            mixture = self._drafts.mixture if self._drafts else decoder.mixture
            token = sample(mixture, self.job.sampling, self._drawn)
            index = len(self._drawn)
            full = index >= self.job.max_tokens
            if full or self._engine.is_end(token):
                if self._drafts:
                    self._drafts.end(token)
                return [*events, self._done(cut=full)]
            text = self._say(token)
            if self._ending.over:
                return [*events, self._done(cut=False)]
            likely = math.exp(log_probability(mixture, token)) if self.job.probabilities else None
            events.append(Token(self.key, index, token, text, likely))
            if self._stops(text):
                return [*events, self._done(cut=False)]
            if index + 1 == self.job.max_tokens:
                return [*events, self._done(cut=True)]
            if not self._accepts(token) or index + 1 == self.allowed:
                return events

    def _accepts(self, token: int) -> bool:
        """Return whether a drawn token equals the next verified draft, so that it needs no decoding."""
        is_accepted = self._drafts is not None and self._drafts.accept(token)
        self.accepted += is_accepted
        return is_accepted

    def _say(self, token: int) -> str:
        self._drawn.append(token)
        text = self._text.decode(self._engine.detokenize([token]))
        self._ending.feed(Piece(token, text))
        return text

    def _stops(self, text: str) -> bool:
        stops = self.job.stops
        if not stops:
            return False
        self._tail += text if self._tail else text.lstrip()
        if any(stop in self._tail for stop in stops):
            return True
        self._tail = self._tail[-max(map(len, stops)) :]
        return False

    def _done(self, *, cut: bool) -> Done:
        if self._drafts:
            self._drafts.close()
        return Done(self.key, self._text.decode(b"", final=True), cut, self.prefilled, self.joined)
