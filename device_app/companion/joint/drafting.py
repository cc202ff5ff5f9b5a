"""Drafts of this device's model for a joint answer: a thread reads the prompt, then drafts and applies corrections.

Makes no decisions: limits and corrections are passed in (DRAGON, section 4.1). Tokens that become final
before the thread has read the prompt are appended after the prompt.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from models.decoder import Decoder, LogWeights
from models.drafts import draft, likeliest
from models.interruptible import interruptible
from models.sampling import SamplingSettings
from shared.aggregation import messages as a
from shared.aggregation.profiler import Latency
from shared.aggregation.terms import Terms
from shared.errors import EngineError, GaveWay, JackdawError
from shared.prompt import Prompt
from shared.trace import Trace

VERDICT_S: Final = 0.01
"""Seconds to wait for the verdict on a draft before the model reads the draft, as the verdict may come a moment late.
"""


@dataclass(frozen=True, slots=True)
class Own:
    """The device's own prompt, with one row per passage, and the rows' log weights."""

    prompt: Prompt
    weights: LogWeights


@dataclass(frozen=True, slots=True)
class Broke:
    """The event that the device's model failed."""

    error: JackdawError


class Errand:
    """A call to be made on the thread that began the answer, as only that thread may use its database connection."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.done = threading.Event()
        self._call = call
        self._given: Any = None
        self._error: JackdawError | None = None

    def run(self) -> None:
        """Make the call, on the thread that began the answer."""
        try:
            self._given = self._call()
        except JackdawError as error:
            self._error = error
        finally:
            self.done.set()

    @property
    def result(self) -> Any:
        """The return value of the call; raises the call's error."""
        if self._error:
            raise self._error
        return self._given


DraftEvent = a.Drafted | Broke | Errand


class Drafting:
    """A thread that drafts tokens, from construction until `close`. The thread calls `on_draft` with each draft.

    `on_draft` also gets calls that the receiver has to run (`Errand`), and a failure of the model (`Broke`). `ready`
    says whether the prompt is read, `latency` predicts the seconds of a draft at a position.
    """

    def __init__(
        self,
        source: LocalSource,
        own: Own,
        terms: Terms,
        sampling: SamplingSettings,
        trace: Trace,
        tree: QKVTree | None,
        on_draft: Callable[[DraftEvent], None],
    ) -> None:
        self.ready = False
        self.latency = Latency()
        self._own, self._terms, self._sampling, self._trace, self._on_draft = own, terms, sampling, trace, on_draft
        self._source = replace(source, engine=interruptible(source.engine, lambda: self._stopped))
        self._tree = cast(QKVTree, _TreeElsewhere(tree, self._ask)) if tree else None
        self._change = threading.Condition()
        self._corrections: list[a.RollBack] = []
        self._upto = self._drafts = self._judged = 0
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="drafts", daemon=True)
        self._thread.start()

    def allow(self, upto: int, judged: int) -> None:
        """Allow drafts at positions below `upto`.

        `judged` is the number of drafts whose verdicts this thread has been given.
        """
        with self._change:
            self._upto, self._judged = upto, judged
            self._change.notify_all()

    def correct(self, correction: a.RollBack) -> None:
        """Let the thread keep the first `keep` tokens, take `tokens` after them, and draft on in the new epoch."""
        with self._change:
            if self._corrections:
                correction = _one_of(self._corrections.pop(), correction)
            self._corrections.append(correction)
            self._change.notify_all()

    def close(self) -> None:
        """Stop drafting, and wait until the engine is free."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join()

    def ran(self, errand: Errand) -> None:
        """Make an errand's call on the current thread, which must be the one that began the answer."""
        errand.run()
        with self._change:
            self._change.notify_all()

    def _run(self) -> None:
        try:
            own, ahead = self._own, self._terms.ahead + 1
            decoder = self._source.decoder(own.prompt, own.weights, ahead=ahead, trace=self._trace, tree=self._tree)
            self.ready = True
            self._draft_on(decoder)
        except GaveWay:
            pass
        except JackdawError as error:
            self._on_draft(Broke(error))
        except BaseException:
            self._on_draft(Broke(EngineError("this device's model has failed")))
            raise

    def _draft_on(self, decoder: Decoder) -> None:
        drawn: list[int] = []
        epoch = 0
        while (corrections := self._next(drawn)) is not None:
            for correction in corrections:
                keep = min(correction.keep, decoder.position)
                decoder.roll_back(keep, (*drawn[keep : correction.keep], *correction.tokens))
                drawn[correction.keep :] = correction.tokens
                epoch = correction.epoch
            if corrections:
                continue
            started = time.perf_counter()
            if decoder.position < len(drawn):
                decoder.append(drawn[-1])
            token, distribution = self._drawn(decoder, drawn)
            self.latency = self.latency.observe(len(drawn), time.perf_counter() - started)
            self._drafts += 1
            self._on_draft(a.Drafted(epoch, len(drawn), token, distribution))
            drawn.append(token)

    def _drawn(self, decoder: Decoder, drawn: Sequence[int]) -> "tuple[int, Any]":
        """Draw the draft after the tokens `drawn`; return it and, if the rule needs one, its distribution.

        A greedy draft comes with the whole distribution, so that the decoder computes it only once.
        """
        if self._terms.rule != "greedy":
            return draft(self._terms.rule, "device", decoder.mixture, self._sampling, drawn)
        whole = likeliest(decoder.mixture, self._sampling, drawn, self._terms.vocabulary)
        return int(whole.probabilities.argmax()), whole

    def _next(self, drawn: Sequence[int]) -> list[a.RollBack] | None:
        """Wait until a draft may be made, and return the corrections to apply before the draft; None at the end.

        The last draft may be rejected, so the thread waits briefly for its verdict before the model reads the draft.
        """
        ended = bool(drawn) and (drawn[-1] in self._terms.ends or len(drawn) == self._terms.max_tokens)
        with self._change:
            self._change.wait_for(lambda: self._judged == self._drafts or self._stopped, VERDICT_S)
            while not (self._stopped or self._corrections or (len(drawn) < self._upto and not ended)):
                self._change.wait()
            corrections, self._corrections = self._corrections, []
            return None if self._stopped else corrections

    def _ask(self, call: Callable[[], Any]) -> Any:
        errand = Errand(call)
        self._on_draft(errand)
        with self._change:
            while not (errand.done.is_set() or self._stopped):
                self._change.wait()
        if not errand.done.is_set():
            raise GaveWay("The answer was cancelled.")
        return errand.result


class _TreeElsewhere:
    """A wrapper of the state tree. Methods that use its database run on the thread that opened the database."""

    def __init__(self, tree: QKVTree, ask: Callable[[Callable[[], Any]], Any]) -> None:
        self.not_computed = tree.not_computed
        self._tree, self._ask = tree, ask

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self._ask(partial(getattr(self._tree, name), *given))


def _one_of(first: a.RollBack, second: a.RollBack) -> a.RollBack:
    """Merge two corrections that came in this order into one, so that the model reads each token once."""
    if second.keep <= first.keep:
        return second
    tokens = first.tokens[: second.keep - first.keep] + second.tokens
    return a.RollBack(first.keep, tokens, second.epoch)
