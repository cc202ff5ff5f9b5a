"""One answer being written: its prompt is read a chunk at a time, row by row, then its tokens are drawn one by one.

Whoever steps it decodes what it drew, in one batch with other answers. What a device writes too is drafted ahead, and
rolled back where it was wrong (DRAGON, section 4.1). Knows no other answer.
"""

import codecs
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from cloud_server.jobs import Done, Draft, Event, Job, Supplied, Token
from cloud_server.prefixes import Prefixes
from models.decoder import Decoder
from models.drafts import draft, likeliest
from models.engine import Engine, Logits
from models.sampling import sample
from shared.aggregation.messages import Rule
from shared.ending import Ending, Piece
from shared.errors import EngineError


class Answer:
    """A job in sequences of its own, one a row; it may be written up to the absolute index `allowed`.

    `prefilled` and `joined` count the tokens of its prompts that were computed, and that were kept from others.
    """

    def __init__(
        self, engine: Engine, prefixes: Prefixes, key: int, job: Job, sequences: Sequence[int], allowed: int
    ) -> None:
        self.key, self.job, self.sequences, self.allowed = key, job, tuple(sequences), allowed
        self.prefilled = self.joined = 0
        self._engine, self._prefixes = engine, prefixes
        self._behind: dict[int, Logits] = {}  # each row's prompt
        self._waiting: list[int] = []
        self._decoder: Decoder | None = None
        self._ending, self._text = Ending(), codecs.getincrementaldecoder("utf-8")("replace")
        self._drawn: list[int] = []
        self._unread: deque[int] = deque()  # settled tokens, the last that are drawn, to be read before a draft
        self._stands = self._epoch = len(job.accepted)
        self._whole = False  # nothing follows the last draft
        for token in job.accepted:
            self._say(token)

    @property
    def moving(self) -> bool:
        """Whether `advance` would do something."""
        if self._decoder is None:
            return False
        return bool(self._unread) or (not self._whole and len(self._drawn) < self.allowed)

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
        self._cut()
        return True

    def advance(self) -> tuple[list[Event], int | None]:
        """What is said now, and the token to decode next in all rows, whose logits `read` takes; None where none is.

        With Done among what is said the answer is over. Raises EngineError where the logits are no numbers.
        """
        if self._decoder and len(self._unread) > len(self.sequences):
            self._decoder.read(self._unread)  # in fewer calls than one by one
            self._unread.clear()
        if self._unread:
            return [], self._unread.popleft()
        if self._whole or len(self._drawn) >= self.allowed:
            return [], None
        return self._draft(self.job.rule) if self.job.rule else self._write()

    def read(self, logits: Mapping[int, Logits]) -> None:
        """The rows' logits behind that token."""
        assert self._decoder is not None
        self._decoder.take({sequence: logits[sequence] for sequence in self.sequences})

    def correct(self, keep: int, tokens: Sequence[int]) -> None:
        """Only the first `keep` tokens stand; these follow. Raises EngineError for what cannot be, changing nothing."""
        fits = 0 <= keep <= len(self._drawn) and keep + len(tokens) <= self.job.max_tokens
        if not fits or not all(0 <= one < self._engine.info.vocabulary for one in tokens):
            raise EngineError("A token came that is none, or beyond the answer's length.")
        if self._decoder and not tokens and keep <= self._decoder.position:
            self._decoder.mixture_at(keep)
        self._drawn[keep:] = tokens
        self._epoch = len(self._drawn)
        self._whole = self._epoch == self.job.max_tokens
        self._stands = min(self._decoder.position if self._decoder else self._stands, keep)
        self._unread = deque(self._drawn[self._stands :])
        self._cut()

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

    def _cut(self) -> None:
        if self._decoder and self._stands < self._decoder.position:
            self._decoder.cut(self._stands)

    def _draft(self, rule: Rule) -> tuple[list[Event], int | None]:
        assert self._decoder is not None
        position = len(self._drawn)
        token, distribution = draft(rule, "server", self._decoder.mixture, self.job.sampling, self._drawn)
        self._drawn.append(token)
        self._whole = self._engine.is_end(token) or position + 1 == self.job.max_tokens
        return [Draft(self.key, self._epoch, position, token, distribution)], None if self._whole else token

    def _write(self) -> tuple[list[Event], int | None]:
        assert self._decoder is not None
        token = sample(self._decoder.mixture, self.job.sampling, self._drawn)
        full = len(self._drawn) >= self.job.max_tokens
        if full or self._engine.is_end(token):
            return [self._done(cut=full)], None
        index = len(self._drawn)
        text = self._say(token)
        if self._ending.over:
            return [self._done(cut=False)], None
        said: Event = Token(self.key, index, token, text)
        if index + 1 == self.job.max_tokens:
            return [said, self._done(cut=True)], None
        return [said], token

    def _say(self, token: int) -> str:
        self._drawn.append(token)
        text = self._text.decode(self._engine.detokenize([token]))
        self._ending.feed(Piece(token, text))
        return text

    def _done(self, *, cut: bool) -> Done:
        return Done(self.key, self._text.decode(b"", final=True), cut, self.prefilled, self.joined)
