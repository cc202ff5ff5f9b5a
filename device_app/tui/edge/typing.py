"""Reading while a question is typed, in a thread of its own that decides what the thread with the device does next.

The screen only posts the text. Whatever is being done gives way when the question is sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

from device_app.ahead.typing import MOST_CHARACTERS, Draft, Ranking, Read, Search, Wait, finishes, fits, next_step
from device_app.question.typed import ReadWhileTyping

if TYPE_CHECKING:
    from device_app.ahead.allowance import Allowance
    from device_app.ahead.typed_reading import Reading
    from device_app.device import Device
    from device_app.settings import Settings
    from storage.paths import Paths

_LOOK_S = 0.01
_GAP_S, _PIECE_S = 0.3, 0.1
"""What is taken to lie between two keys, and a batch of the model to take, before that is known."""

_FORGETS = 0.8
"""What is kept, with each key, of how long a batch seems to take while none begins."""

_RESTS_S = 30.0
"""What forbids reading (load, power, a budget, a pause, a full disk) is looked at again after so long."""

_MOST_GAP_S = 1.0
"""From a longer gap, nothing is learned about the pace."""


class Lender(Protocol):
    """Whoever has the device, and lends it for pieces of work in its own thread."""

    @property
    def is_awaited(self) -> bool:
        """Whether work waits for what is being done."""

    def begin(self, work: Callable[[Device], Any]) -> Future[Any]:
        """Do the work when what was begun before is done. Raises RuntimeError once it is closed."""


@dataclass(slots=True)
class _Question:
    """A question that is being typed. `ended` is set once it is sent, and where nothing more may be done for it."""

    draft: Draft = field(default_factory=Draft)
    read: ReadWhileTyping = field(default_factory=ReadWhileTyping)
    ended: Event = field(default_factory=Event)
    is_sent: bool = False
    rules: tuple[Paths, Settings] | None = None


class Typing:
    """Reads for the question that is being typed, with the device of the `lender`.

    `allowance` is made when somebody first types; `clock` is the monotonic clock.
    """

    def __init__(
        self,
        lender: Lender,
        allowance: Callable[[], Allowance] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lender, self._clock = lender, clock
        self._make_allowance = allowance or _allowance
        self._changed = Condition()
        self._question, self._sent = _Question(), _Question()
        self._not_before = -math.inf
        self._thread: Thread | None = None
        self._closed = False
        self._typed_at = -_MOST_GAP_S
        self._gap_s, self._piece_s = _GAP_S, _PIECE_S

    def typed(self, text: str) -> None:
        """Take the text of the composer after a key. Returns at once."""
        with self._changed:
            before, self._typed_at = self._typed_at, self._clock()
            if self._typed_at - before < _MOST_GAP_S:
                self._gap_s += (self._typed_at - before - self._gap_s) / 4
            self._question.draft = self._question.draft.typed(text[: MOST_CHARACTERS + 1], self._typed_at)
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._run, name="typing", daemon=True)
                self._thread.start()
            self._changed.notify()

    def sent(self, text: str) -> ReadWhileTyping:
        """End the reading for a question that is sent now, and return what was read for it, complete once that ended.

        Nothing was read for another question than the typed one, which goes on being read for.
        """
        with self._changed:
            if self._question.draft.text.split() != text[: MOST_CHARACTERS + 1].split():
                return ReadWhileTyping()
            self._sent = self._question
            self._sent.is_sent = True
            self._forget()
        return self._sent.read

    def stop(self) -> None:
        """The answer to the question sent last is not waited for any more: end a reading that went on for it."""
        self._sent.is_sent = False

    def forget(self) -> None:
        """Settings or model changed: begin the question being typed anew."""
        with self._changed:
            self._not_before = -math.inf
            self._forget()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._question.ended.set()
            self._changed.notify()

    def _forget(self) -> None:
        question, self._question = self._question, _Question()
        question.ended.set()
        self._changed.notify()

    # In the thread

    def _run(self) -> None:
        allowance: Allowance | None = None
        while question := self._next():
            with self._changed:
                now = self._clock()
                step = next_step(question.draft, now) if now >= self._not_before else Wait(self._not_before - now)
                if isinstance(step, Wait):
                    self._changed.wait(step.seconds)
                    continue
            try:
                allowance = allowance or self._make_allowance()
                self._do(question, step, allowance)
            except Exception:  # whatever fails here fails an answer too, which says so; later questions are read for
                question.ended.set()

    def _next(self) -> _Question | None:
        """Return the question being typed, once something may be done for it; None once all is closed."""
        with self._changed:
            while not self._closed and (self._question.ended.is_set() or not self._question.draft.text):
                self._changed.wait()
            return None if self._closed else self._question

    def _do(self, question: _Question, step: Search | Read, allowance: Allowance) -> None:
        if question.rules is None:
            question.rules = self._lender.begin(_rules).result()
        paths, settings = question.rules
        if not settings.answer.read_while_typing:
            question.ended.set()
            return
        if allowance.refusal(paths, settings.daemon):
            self._not_before = self._clock() + _RESTS_S
            return
        if isinstance(step, Search):
            ranking = self._lender.begin(partial(self._search, question, step.text)).result()
            with self._changed:
                question.draft = question.draft.ranked(step.text, ranking)
            return
        reading, parameters = self._lender.begin(partial(self._read, question, step.passage)).result()
        if reading.tokens:
            allowance.spend(paths, settings.daemon, parameters, reading.tokens)
        if not reading.is_kept:
            self._not_before = self._clock() + _RESTS_S
        if reading.done or reading.tokens:
            with self._changed:
                question.draft = question.draft.has_read(step.passage, is_broken_off=not reading.done)

    # In the thread with the device

    def _search(self, question: _Question, text: str, device: Device) -> Ranking:
        from device_app.ahead.typed_reading import nearest

        return () if question.ended.is_set() else nearest(device, text)

    def _read(self, question: _Question, passage: int, device: Device) -> tuple[Reading, int]:
        from device_app.ahead.typed_reading import read

        began: list[float] = []
        reading = read(device, passage, partial(self._gives_way, question, passage, began))
        if reading.tokens:
            question.read.passages += [passage] if reading.done else []
            question.read.broken_off += not reading.done
            question.read.tokens += reading.tokens
            question.read.ms += reading.ms
        return reading, device.begin_loading().result().engine.info.parameters

    def _gives_way(self, question: _Question, passage: int, began: list[float], share: float) -> bool:
        """Return whether the reading has to end, with so much of it done; wait where a key is about to come.

        `began` holds when the batch began that has ended now.
        """
        if began and share:
            self._piece_s += (self._clock() - began.pop() - self._piece_s) / 2
        typed_at = self._typed_at
        while not (question.ended.is_set() or self._lender.is_awaited):
            now = self._clock()
            if typed_at != self._typed_at:  # so that a slow batch is tried again some keys later
                typed_at, self._piece_s = self._typed_at, self._piece_s * _FORGETS
            if fits(now - self._typed_at, self._gap_s, self._piece_s):
                began[:] = [now]
                return False
            time.sleep(_LOOK_S)
        return self._closed or not (question.is_sent and finishes(question.draft, passage, share))


def _rules(device: Device) -> tuple[Paths, Settings]:
    return device.paths, device.settings


def _allowance() -> Allowance:
    from device_app.ahead.allowance import Allowance

    return Allowance()
