"""One answer being written: its prompt is read a chunk at a time, row by row, then its tokens are drawn one by one.

Whoever steps it decodes what it drew, in one batch with other answers. What a device writes too is drafted ahead, and
rolled back where it was wrong (DRAGON, section 4.1). Knows no other answer.
"""

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloud_server.engine.jobs import Done, Draft, EngineEvent, Job, Supplied, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.decoder import Decoder
from models.drafts import draft, likeliest
from models.engine import Engine, Logits
from models.sampling import SamplingSettings, sample
from shared.aggregation.messages import Rule
from shared.ending import Ending, Piece
from shared.errors import EngineError

Choose = Callable[[Logits, SamplingSettings, Sequence[int]], Sequence[int]]
"""Chooses an answer's next tokens, at least one, from the log probabilities of the first of them, how it is sampled and
the tokens before.
"""


def one_by_one(mixture: Logits, sampling: SamplingSettings, before: Sequence[int]) -> list[int]:
    """The next token alone, sampled."""
    return [sample(mixture, sampling, before)]


class Answer:
    """A job in sequences of its own, one a row; it may be written up to the absolute index `allowed`.

    `prefilled` and `joined` count the tokens of its prompts that were computed, and that were kept from others.
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
        choose: Choose = one_by_one,
    ) -> None:
        self.key, self.job, self.sequences, self.allowed, self.owner = key, job, tuple(sequences), allowed, owner
        self.prefilled = self.joined = 0
        self._engine, self._prefixes, self._choose = engine, prefixes, choose
        self._behind: dict[int, Logits] = {}  # each row's prompt
        self._waiting: list[int] = []
        self._decoder: Decoder | None = None
        self._ending, self._text = Ending(), codecs.getincrementaldecoder("utf-8")("replace")
        self._drawn: list[int] = []
        self._epoch = len(job.accepted)
        self._stands = self._epoch  # of what is accepted, until all is read
        self._whole = False  # nothing follows what is drawn, the last of which needs no reading
        self._drawn += job.accepted
        self._ending.go_on(job.accepted, self._text.decode(engine.detokenize(job.accepted)))

    @property
    def moving(self) -> bool:
        """Whether there is a token to read or to draw."""
        return bool(self._unread) or self._draws

    @property
    def paused(self) -> bool:
        """Whether its prompt is read and it waits for its reader."""
        return self._decoder is not None and not self.moving

    @property
    def unread(self) -> int:
        """Tokens of its prompts that are not read yet."""
        return 0 if self._decoder else max(self.job.read_tokens - self.prefilled - self.joined, 1)

    @property
    def rest_of_job(self) -> Job:
        """What is left to write. The same comes of it as here, unless a device writes it too."""
        return replace(self.job, accepted=tuple(self._drawn))

    def prefill(self, most: int) -> bool:
        """Compute so many tokens of the prompt at most; whether all is computed then. Raises EngineError."""
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
        self._behind = {}  # as large as the vocabulary, each
        self._cut(self._decoder, self._stands)
        return True

    def next_token(self) -> int | None:
        """The token to decode now in all rows, whose logits `read` takes; None where none is.

        More tokens than there are rows are read here, in fewer calls than one by one. Raises EngineError.
        """
        if self._decoder and len(self._unread) > len(self.sequences):
            self._decoder.read(self._unread)
        return self._unread[0] if self._unread else None

    def read(self, logits: Mapping[int, Logits]) -> None:
        """The rows' logits behind that token."""
        assert self._decoder is not None
        self._decoder.take({sequence: logits[sequence] for sequence in self.sequences})

    def put_back(self) -> None:
        """Let its sequences hold what was read and no more, after a decode that failed. Raises EngineError."""
        if self._decoder:
            self._decoder.cut(self._decoder.position)

    def draw(self) -> list[EngineEvent]:
        """The next tokens, if any may be drawn, before they are read: whoever waits for them need not wait for that.

        With Done the answer is over. Raises EngineError where the logits are no numbers.
        """
        if self._decoder is None or not self._draws:
            return []
        mixture = self._decoder.mixture
        return [self._draft(self.job.rule, mixture)] if self.job.rule else self._write(mixture)

    def correct(self, keep: int, tokens: Sequence[int]) -> None:
        """Only the first `keep` tokens stand; these follow. Raises EngineError for what cannot be, changing nothing."""
        fits = 0 <= keep <= len(self._drawn) and keep + len(tokens) <= self.job.max_tokens
        if not fits or not all(0 <= token < self._engine.info.vocabulary for token in tokens):
            raise EngineError("A token came that is none, or beyond the answer's length.")
        if self._decoder and not tokens and keep <= self._decoder.position:
            self._decoder.mixture_at(keep)
        self._drawn[keep:] = tokens
        self._epoch = len(self._drawn)
        self._whole = self._epoch == self.job.max_tokens
        self._stands = min(self._stands, keep)
        if self._decoder:
            self._cut(self._decoder, keep)

    def supply(self, position: int, count: int) -> Supplied | None:
        """More of the distribution there; None where it is not kept any more."""
        if self._decoder is None or not self._decoder.keeps(position):
            return None
        mixture, before = self._decoder.mixture_at(position), self._drawn[:position]
        return Supplied(self.key, position, likeliest(mixture, self.job.sampling, before, count))

    def clear(self) -> None:
        """Empty its sequences."""
        for sequence in self.sequences:
            self._engine.clear(sequence)

    def _begin(self, row: int) -> None:
        """Let the row hold what it shares with the first, and what is kept of it; the rest waits."""
        sequence, segments = self.sequences[row], self.job.rows[row]
        if row:
            self._engine.fork(self.sequences[0], sequence)
            self._engine.rollback(sequence, self._engine.length(sequence) - self.job.shared)
        self.joined += self._prefixes.join(self._engine, sequence, segments)
        tokens = [token for segment in segments for token in segment]
        self._waiting = [*tokens, *self.job.accepted][self._engine.length(sequence) :]

    @property
    def _unread(self) -> list[int]:
        """What is drawn, or settled otherwise, and is not read."""
        return self._drawn[self._decoder.position : len(self._drawn) - self._whole] if self._decoder else []

    @property
    def _draws(self) -> bool:
        here = self._decoder is not None and self._decoder.position == len(self._drawn)
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

    def _write(self, mixture: Logits) -> list[EngineEvent]:
        """Settle the tokens chosen for this step, one after the other, up to the answer's end or what is allowed.

        Tokens behind that are dropped; those that were not allowed yet are chosen again.
        """
        events: list[EngineEvent] = []
        for token in self._choose(mixture, self.job.sampling, self._drawn):
            index = len(self._drawn)
            full = index >= self.job.max_tokens
            if full or self._engine.is_end(token):
                return [*events, self._done(cut=full)]
            text = self._say(token)
            if self._ending.over:
                return [*events, self._done(cut=False)]
            events.append(Token(self.key, index, token, text))
            if index + 1 == self.job.max_tokens:
                return [*events, self._done(cut=True)]
            if index + 1 == self.allowed:
                break
        return events

    def _say(self, token: int) -> str:
        self._drawn.append(token)
        text = self._text.decode(self._engine.detokenize([token]))
        self._ending.feed(Piece(token, text))
        return text

    def _done(self, *, cut: bool) -> Done:
        return Done(self.key, self._text.decode(b"", final=True), cut, self.prefilled, self.joined)
