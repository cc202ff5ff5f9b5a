"""Prepares for the question being typed, in a thread of its own that submits work to the thread with the device.

The screen only posts the text. Any work in progress gives way when the question is sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

from device_app.ahead.typing import (
    MOST_CHARACTERS,
    Draft,
    Ranking,
    Read,
    ReadQuestion,
    Search,
    Wait,
    fits,
    next_step,
)
from device_app.question.typed import ReadWhileTyping

if TYPE_CHECKING:
    from device_app.ahead.allowance import Allowance
    from device_app.ahead.typed_reading import Reading
    from device_app.device import Device
    from device_app.question.options import Plan
    from device_app.settings import Settings
    from storage.paths import Paths

_LOOK_S = 0.01
_GAP_S, _PIECE_S = 0.3, 0.1
"""The seconds assumed between two key presses, and for a model batch, until the first one of each is measured."""

_FORGETS = 0.8
"""The factor by which the estimated batch time shrinks with each key press during which no batch starts."""

_RESTS_S = 30.0
"""Seconds after which reading ahead is tried again if load, power, a budget, a pause or a full disk forbade it."""

_MOST_GAP_S = 1.0
"""The longest gap between keys, in seconds, that counts for the estimated typing speed."""


_WHOLE_PIECE = 24
"""The least number of tokens of a batch whose time is used to estimate the time of a batch."""


class Lender(Protocol):
    """The owner of the device, which runs submitted work in its own thread."""

    @property
    def is_awaited(self) -> bool:
        """Whether other work waits for the current work to end."""

    def begin(self, work: Callable[[Device], Any]) -> Future[Any]:
        """Submit the work, to run after all work submitted before. Raises RuntimeError once the owner is closed."""


@dataclass(slots=True)
class _Batch:
    """A batch of tokens that the model computes: when it `began`, and how many tokens were computed before it."""

    began: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Rules:
    """The device's paths and settings when the first key of a question was pressed; `plan` is how its answer will be
    written.
    """

    paths: Paths
    settings: Settings
    plan: Plan


@dataclass(slots=True)
class _Question:
    """A question that is being typed. `ended` is set when it is sent, or when no more work may be done for it.

    `draft` holds the text and what was found for it, `read` the passages read. `rules` are the device's paths and
    settings, and how many of the passages found may be read; None until asked for.
    """

    draft: Draft = field(default_factory=Draft)
    read: ReadWhileTyping = field(default_factory=ReadWhileTyping)
    ended: Event = field(default_factory=Event)
    rules: _Rules | None = None


class Typing:
    """Retrieves and reads passages for the question being typed, on the device of the `lender`.

    `allowance` is called when the user first types, and returns the limits of work ahead; `clock` is the monotonic
    clock.
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
        self._question = _Question()
        self._not_before = -math.inf
        self._thread: Thread | None = None
        self._closed = False
        self._typed_at = -_MOST_GAP_S
        self._gap_s, self._piece_s = _GAP_S, _PIECE_S

    def typed(self, text: str) -> None:
        """Take the composer's text after a key press. Returns at once."""
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
        """End the work for the question that is sent now; return the passages read for it, complete when the work ends.

        If the sent question is not the typed one, return an empty result, and continue for the typed one.
        """
        with self._changed:
            if self._question.draft.text.split() != text[: MOST_CHARACTERS + 1].split():
                return ReadWhileTyping()
            read = self._question.read
            self._forget()
        return read

    @property
    def is_busy(self) -> bool:
        """Whether a question is being typed."""
        return bool(self._question.draft.text)

    def forget(self) -> None:
        """Drop the passages read for the question being typed, and read again, as settings or the model changed."""
        with self._changed:
            dropped = self._question
            self._not_before = -math.inf
            self._forget()
        self._count(dropped)

    def close(self) -> None:
        """End the thread that prepares for questions."""
        with self._changed:
            self._closed = True
            self._question.ended.set()
            self._changed.notify()
        self._count(self._question)

    def _count(self, question: _Question) -> None:
        """Count the passages read for a question that is not sent, once the reading has ended."""
        if question.draft.text or question.read.readings:
            self._lender.begin(partial(_count_unsent, question.read))

    def _forget(self) -> None:
        question, self._question = self._question, _Question()
        question.ended.set()
        self._changed.notify()

    # Code that runs in this class's thread

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
            except Exception:  # an answer fails with the same fault and reports it; later questions are still prepared
                question.ended.set()

    def _next(self) -> _Question | None:
        """Return the question being typed once there is work for it; None after `close`."""
        with self._changed:
            while not self._closed and (self._question.ended.is_set() or not self._question.draft.text):
                self._changed.wait()
            return None if self._closed else self._question

    def _do(self, question: _Question, step: Search | Read | ReadQuestion, allowance: Allowance) -> None:
        from device_app.ahead.typed_reading import readable_ranks

        if question.rules is None:
            question.rules = self._lender.begin(_rules).result()
            plan = question.rules.plan
            with self._changed:
                draft = question.draft
                question.draft = replace(draft, ranks=readable_ranks(plan), is_readable=plan.passages == 1)
        paths, settings = question.rules.paths, question.rules.settings
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
        reading, parameters = self._lender.begin(partial(self._read, question, step)).result()
        if reading.tokens:
            allowance.spend(paths, settings.daemon, parameters, reading.tokens)
        if not reading.is_kept:
            self._not_before = self._clock() + _RESTS_S
        if not (reading.done or reading.tokens):
            return
        with self._changed:
            if isinstance(step, ReadQuestion):
                question.draft = question.draft.has_read_question(step, is_broken_off=not reading.done)
            else:
                question.draft = question.draft.has_read(step.passage, is_broken_off=not reading.done)

    # Code that runs in the device's thread

    def _search(self, question: _Question, text: str, device: Device) -> Ranking:
        from device_app.ahead.typed_reading import nearest

        return () if question.ended.is_set() else nearest(device, text)

    def _read(self, question: _Question, step: Read | ReadQuestion, device: Device) -> tuple[Reading, int]:
        from device_app.ahead.typed_reading import read, read_question

        gives_way = partial(self._gives_way, question, _Batch())
        if isinstance(step, Read):
            reading = read(device, step.passage, gives_way)
            if reading.tokens:
                (question.read.passages if reading.done else question.read.broken_off).append(step.passage)
        else:
            reading = read_question(device, step, gives_way)
        question.read.tokens += reading.tokens
        question.read.ms += reading.ms
        return reading, device.begin_loading().result().engine.info.parameters

    def _gives_way(self, question: _Question, batch: _Batch, tokens: int) -> bool:
        """Return whether reading ahead has to stop, with this many tokens done; wait while a key press is imminent.

        `batch` is the batch of tokens that has just ended.
        """
        if tokens - batch.tokens >= _WHOLE_PIECE:
            self._piece_s += (self._clock() - batch.began - self._piece_s) / 2
        batch.tokens = tokens
        typed_at = self._typed_at
        while not (question.ended.is_set() or self._lender.is_awaited):
            now = self._clock()
            if typed_at != self._typed_at:  # so that a slow batch is tried again after some more key presses
                typed_at, self._piece_s = self._typed_at, self._piece_s * _FORGETS
            if fits(now - self._typed_at, self._gap_s, self._piece_s):
                batch.began = now
                return False
            time.sleep(_LOOK_S)
        return True


def _rules(device: Device) -> _Rules:
    return _Rules(device.paths, device.settings, device.options().plan)


def _count_unsent(read: ReadWhileTyping, device: Device) -> None:
    from device_app.answering.records import Records

    if read.readings:
        Records(device.conversations, device.qa_bank).count_typing(read, ())


def _allowance() -> Allowance:
    from device_app.ahead.allowance import Allowance

    return Allowance()
