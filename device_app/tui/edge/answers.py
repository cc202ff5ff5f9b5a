"""Answers questions in a thread of its own, one at a time: runs `Assistant.ask` and posts its events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from device_app.question.typed import ReadWhileTyping
from device_app.tui import messages
from device_app.tui.edge.following import Following
from device_app.tui.edge.memory import is_needed
from device_app.tui.edge.stopping import stoppable
from device_app.tui.edge.thread import ANSWERS, DeviceThread
from shared.errors import GaveWay, JackdawError

if TYPE_CHECKING:
    from device_app.commands.turns import TurnStore
    from device_app.device import Device
    from device_app.question.answer import Events
    from device_app.question.options import Asked
    from device_app.tui.edge.typing import Typing
    from device_app.tui.edge.writing import Writing

Post = Callable[[Any], object]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Request:
    """A question to answer, in a new conversation if `conversation` is None.

    Messages about it have the number `ticket`. `instead_of` is the id of the turn that it replaces, with all later
    turns; `asked` are the options that the person chose; setting `stop` ends the answer. `typed` holds the passages
    read while the question was typed.
    """

    ticket: int
    question: str
    conversation: int | None = None
    instead_of: int | None = None
    asked: Asked = field(default_factory=dict)  # type: ignore[assignment]
    stop: Event = field(default_factory=Event)
    typed: ReadWhileTyping = field(default_factory=ReadWhileTyping)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A kept question compared with a new one: their cosine, whether its answer fits the new one, and why."""

    question: str
    similarity: float
    serves: bool
    reason: str


class Answers:
    """The thread that answers questions. `post` sends messages to the app and may be called from any thread."""

    def __init__(self, open_device: Callable[[], Device], post: Post) -> None:
        self._thread = DeviceThread("answers", open_device, nice=ANSWERS)
        self._post = post
        self._following = Following(post)
        self._request: Request | None = None
        self.typed_at = 0.0
        self._typing: Typing | None = None
        self._typing_changes = Lock()
        self._text = ""  # typed before there is a `Typing`
        self._loads_late = False
        self._closed = Event()

    def start(self) -> None:
        """Load the model and the embedder, so that the first question is answered without delay."""
        self._submit(self._prepare)

    def ask(self, request: Request) -> None:
        """Answer the question. The last message posted is Finished, Stopped or Failed."""
        with self._typing_changes:
            self._text = ""
            asked = replace(request, typed=self._typing.sent(request.question)) if self._typing else request
        self._request = asked
        self._submit(lambda device: self._answer(device, asked))

    def stop(self) -> None:
        """Stop the current answer, within one batch of the model."""
        if self._request:
            self._request.stop.set()

    def typed(self) -> None:
        """Record a key press: the display of the current answer waits a moment, and background work ends."""
        self.typed_at = time.monotonic()

    def types(self, text: str) -> None:
        """Prepare for the question being typed, given its text so far; load the model if loading was postponed.

        Returns at once.
        """
        with self._typing_changes:
            if self._loads_late:
                self._loads_late = False
                self._submit(self._load)
            if self._typing:
                self._typing.typed(text)
            else:
                self._text = text

    def fetch(self) -> None:
        """Download the missing model files, then load the model."""
        self._submit(self._fetch)

    async def why(self, question: str) -> Sequence[Weighed]:
        """Return the kept answers that would be compared with the question now, the most similar first.

        Raises JackdawError.
        """

        def weigh(device: Device) -> Sequence[Weighed]:
            similar = device.assistant.similar(question, device.options())
            return [
                Weighed(candidate.entry.question, candidate.similarity, candidate.serves, candidate.reason)
                for candidate in similar
            ]

        return await self._thread.run(weigh)

    async def keep_up(self) -> None:
        """Reopen the device if another program has connected it to a server or disconnected it.

        Free the model if the phone is short of memory.
        """
        if await asyncio.to_thread(self._following.has_changed):
            self.reopen()
        elif await asyncio.to_thread(is_needed):
            self._submit(self._let_go)

    def reopen(self) -> None:
        """Load the settings again before the next question is answered."""
        if self._typing:
            self._typing.forget()
        self._thread.reopen()
        self.start()

    async def lend(self, work: Callable[[Device], Result]) -> Result:
        """Run `work` on the device with the loaded models, in its own thread; return the result or raise the error."""
        return await self._thread.run(work)

    def begin(self, work: Callable[[Device], Result]) -> Future[Result]:
        """Submit `work` for the device with the loaded models; it has to end soon once `is_awaited` is true."""
        return self._thread.submit(work)

    @property
    def is_awaited(self) -> bool:
        """Whether other work, such as a question, waits for the current work to end."""
        return self._thread.is_awaited

    def close(self) -> None:
        """Stop the current answer, and free the model."""
        self._closed.set()
        if self._typing:
            self._typing.close()
        self.stop()
        self._thread.close()

    def _submit(self, work: Callable[[Device], None]) -> None:
        self._thread.submit(work).add_done_callback(self._done)

    def _done(self, future: Future[None]) -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        known = isinstance(error, JackdawError)
        self._post(messages.Troubled(str(error)) if known else messages.Broken(error))

    def _prepare(self, device: Device) -> None:
        from device_app.tui.edge.memory import loads_late
        from models import catalog

        if absent := device.weights.missing(device.loads()):
            names = tuple(entry.name for entry in absent)
            self._post(messages.Missing(names, sum(entry.size for entry in absent)))
            return
        self._following.expect(device)
        for name in device.loads():
            device.weights.path(catalog.find(name))
        model = catalog.find(device.settings.model.name, "engine")
        with self._typing_changes:
            self._loads_late = loads_late(device.weights, model) and not self._text
        if self._loads_late:
            self._post(messages.Ready(device.settings.model.name))
        else:
            self._load(device)

    def _load(self, device: Device) -> None:
        from device_app.commands.models import refused
        from device_app.tui.edge.typing import Typing

        loading = device.begin_loading()
        with self._typing_changes:
            if self._typing is None:
                self._typing = Typing(self)
                if self._text:
                    self._typing.typed(self._text)
        device.assistant.embedder.embed(["warm"])
        loading.result()
        self._post(messages.Ready(device.settings.model.name, refused(device)))
        self._following.follow(device)

    def _let_go(self, device: Device) -> None:
        """Free the model, unless it is about to be used; it is loaded again when the person types."""
        with self._typing_changes:
            if device.loaded is None or self._thread.is_awaited or (self._typing and self._typing.is_busy):
                return
            self._loads_late = True
        device.let_go()

    def _fetch(self, device: Device) -> None:
        from device_app.commands.models import pull
        from models import catalog

        for name in device.loads():
            pull(device.weights, catalog.find(name), partial(self._fetched, name))
        self._prepare(device)

    def _fetched(self, name: str, doing: str, done: int, total: int) -> None:
        if self._closed.is_set():
            raise GaveWay("The app was closed.")
        self._post(messages.Fetching(f"{name}: {doing}", done, total))

    def _answer(self, device: Device, request: Request) -> None:
        from device_app.commands.turns import TurnStore
        from device_app.system.activity import Activity
        from device_app.system.awake import awake
        from device_app.tui.edge.writing import Writing

        writing = Writing()
        store = TurnStore(device.database, request.instead_of, writing.new_turns)
        try:
            with Activity(device.paths.activity).noted(), awake(device.paths.awake), suppress(GaveWay):
                self._stream(device, request, writing, store)
            if not writing.finished:
                if writing.text.strip():
                    store.stands()
                else:
                    store.failed()
                turn = writing.turn
                # The stored record says whether the model alone was asked, which asking again needs.
                for stored in store.turns_with([turn.id]) if turn else ():
                    turn = replace(writing.whole(), record=stored.record)
                self._post(messages.Stopped(request.ticket, turn))
            with suppress(JackdawError):  # another device, if another store has replaced the earlier one
                self._following.follow(device)
        except JackdawError as error:
            if writing.finished:  # the answer is complete; keeping it for later failed
                raise
            with suppress(JackdawError):
                store.failed()
            self._post(messages.Failed(request.ticket, str(error), writing.turn))

    def _stream(self, device: Device, request: Request, writing: Writing, store: TurnStore) -> None:
        from device_app.commands.turns import advice
        from device_app.question.answer import Answer, Found, LookedUp, Wrote, sources

        assistant = stoppable(replace(device.assistant, conversations=store), request.stop)
        options = device.options(**request.asked)
        events = cast("Events", assistant.ask(request.question, options, request.conversation, request.typed))
        with closing(events):
            for event in events:
                if isinstance(event, Answer):
                    writing.finish(event.text, event.as_json())
                    lines = () if event.found or event.model_only else tuple(advice(device, request.question))
                    self._post(messages.Finished(request.ticket, writing.whole(), lines))
                elif isinstance(event, Found):
                    self._post(messages.FoundSources(request.ticket, sources(event.hits)))
                elif isinstance(event, LookedUp):
                    self._post(messages.LookedUp(request.ticket, event.as_json()))
                elif isinstance(event, Wrote) and (show := writing.add(event.text, time.monotonic(), self.typed_at)):
                    self._post(messages.Wrote(request.ticket, show))
                if request.stop.is_set() and not writing.finished:
                    break
