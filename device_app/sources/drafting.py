"""Drafts of the model here for an answer that the server writes too: drawn ahead in a thread, and set right.

Decides nothing: it is told how far it may go, and what was settled otherwise (DRAGON, section 4.1).
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.decoder import Decoder
from models.sampling import SamplingSettings, distribution
from shared.aggregation import messages as a
from shared.aggregation import rules
from shared.aggregation.terms import Terms
from shared.errors import GaveWay, JackdawError


@dataclass(frozen=True, slots=True)
class Broke:
    """The model here cannot go on."""

    why: str


class Drafting:
    """From now until it is closed. `hear` is called with each draft, on the thread that draws them."""

    def __init__(
        self, decoder: Decoder, terms: Terms, sampling: SamplingSettings, hear: "Callable[[a.Drafted | Broke], None]"
    ) -> None:
        self._decoder, self._terms, self._sampling, self._hear = decoder, terms, sampling, hear
        self._change = threading.Condition()
        self._corrections: list[a.RollBack] = []
        self._upto = terms.ahead
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="drafts", daemon=True)
        self._thread.start()

    def allow(self, upto: int) -> None:
        """Let it draft positions below that."""
        with self._change:
            self._upto = upto
            self._change.notify()

    def correct(self, correction: a.RollBack) -> None:
        """Roll back, and go on as the correction says."""
        with self._change:
            self._corrections.append(correction)
            self._change.notify()

    def close(self) -> None:
        """Stop, and wait until the engine is free."""
        with self._change:
            self._stopped = True
            self._change.notify()
        self._thread.join()

    def _run(self) -> None:
        drawn: list[int] = []
        epoch, ended = 0, False
        try:
            while (corrections := self._next(len(drawn), ended=ended)) is not None:
                for one in corrections:
                    self._decoder.roll_back(one.keep, one.tokens)
                    drawn[one.keep :] = one.tokens
                    epoch, ended = one.epoch, False
                if corrections:
                    continue
                token = self._draw(drawn)
                self._hear(a.Drafted(epoch, len(drawn), token))
                drawn.append(token)
                ended = token in self._terms.ends or len(drawn) == self._terms.max_tokens
                if not ended:
                    self._decoder.append(token)
        except GaveWay:
            pass
        except JackdawError as error:
            self._hear(Broke(str(error)))
        except BaseException:
            self._hear(Broke("the model here has failed"))
            raise

    def _next(self, position: int, *, ended: bool) -> list[a.RollBack] | None:
        """What is to be corrected before the next draft, once one may be made; None at the end."""
        with self._change:
            while not (self._stopped or self._corrections or (position < self._upto and not ended)):
                self._change.wait()
            corrections, self._corrections = self._corrections, []
            return None if self._stopped else corrections

    def _draw(self, drawn: Sequence[int]) -> int:
        left = distribution(self._decoder.mixture, self._sampling, drawn)
        return rules.draft("coupled", "device", self._terms.seed, len(drawn), left.tokens, left.probabilities)
