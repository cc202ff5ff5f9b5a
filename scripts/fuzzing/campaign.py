"""Fuzzes a running server over its socket with several devices at once, while an honest device asks questions.

Failures: the server exits, is not ready, logs an error (including one in serving a request), sends an invalid message,
does not answer the honest device, or keeps resources of closed connections.
"""

import asyncio
import statistics
import tempfile
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException

from scripts.fuzzing.conversation import Conversation
from scripts.fuzzing.frames import Utterance
from scripts.fuzzing.lines import Broken, Line, answered, dial, probe, welcomed
from scripts.fuzzing.served import QUESTIONS, EngineName, RunningServer, serving
from scripts.places import step
from shared.errors import ExitCode, ProtocolError
from shared.protocol import messages as m
from shared.protocol.codec import Frame

WORKERS = 4
"""The number of connections that send frames at the same time."""

BURST, LONGEST = 12, 60
"""BURST is the number of frames sent before waiting until the server has read them, LONGEST the most frames of one
connection.
"""

PROGRESS_S = 60.0
"""Seconds between two progress lines."""

EVERY = 1000
"""The number of frames between two questions of the honest device. After twice as many frames without an answer,
fuzzing waits for the answer.
"""

PATIENCE_S: dict[EngineName, float] = {"fake": 60.0, "real": 300.0}
"""Seconds to wait for the honest device's answer."""

POLL_S, IDLE_S = 0.2, 60.0

LAST = 40
"""The number of frames shown after a failure: the last ones that were sent."""

WRONG = (Broken, ProtocolError, TimeoutError, OSError, ValueError, WebSocketException)
"""Exceptions that mean the server misbehaved, including the honest device rejecting a frame."""


@dataclass
class Seen:
    """The counts of frames that the server read, and of the results."""

    frames: int = 0
    connections: int = 0
    resumed: int = 0
    polls: int = 0
    said: Counter[str] = field(default_factory=Counter)
    legal: Counter[str] = field(default_factory=Counter)
    extremes: Counter[str] = field(default_factory=Counter)
    closed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    last: deque[tuple[str, str, Frame]] = field(default_factory=lambda: deque(maxlen=LAST))


class Campaign:
    """A run that sends `frames` frames, determined by the seed, to the server at `place`."""

    def __init__(self, place: RunningServer, engine: EngineName, frames: int, seed: int) -> None:
        self.seen = Seen()
        self._place, self._engine, self._frames, self._seed = place, engine, frames, seed
        self._offer: m.Offer

    async def run(self) -> None:
        """Send all frames, recording failures in `seen`."""
        beside = [asyncio.create_task(self._poll()), asyncio.create_task(self._show_progress())]
        try:
            self._offer = await welcomed(self._place)
            async with asyncio.TaskGroup() as group:
                for worker in range(WORKERS):
                    group.create_task(self._work(worker))
                group.create_task(self._ask())
            await self._idle()
        except* WRONG as errors:
            self.seen.wrong += [f"{type(error).__name__}: {error}" for error in errors.exceptions]
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    @property
    def _over(self) -> bool:
        return self.seen.frames >= self._frames or bool(self.seen.wrong)

    async def _work(self, worker: int) -> None:
        """Run one fuzzed conversation after another."""
        number = worker
        while not self._over:
            await self._converse(f"{self._seed}:{number}")
            number += WORKERS

    async def _converse(self, seed: str) -> None:
        talk = Conversation(seed, self._place.vocabulary, self._offer)
        resume: m.Resume | None = None
        goes_on = True
        while goes_on:
            line = Line(await dial(self._place), self.seen.ended, resume.last_seq if resume else 0)
            self.seen.connections += 1
            self.seen.resumed += resume is not None
            try:
                goes_on = await self._burst(talk, line, [talk.hello(resume)])
                if resume and line.welcome and not line.welcome.resumed:
                    talk.not_resumed()
                goes_on = goes_on and await self._talked(talk, line)
            finally:
                await line.end()
            goes_on = goes_on and talk.resumes()
            resume = m.Resume(line.welcome.session, line.last_seq) if line.welcome else None

    async def _talked(self, talk: Conversation, line: Line) -> bool:
        """Send the conversation's frames. Return False if the server ended the connection."""
        for _ in range(LONGEST // BURST):
            while self.seen.frames >= (len(self.seen.waits_s) + 2) * EVERY and not self._over:
                await asyncio.sleep(0.01)
            said: list[Utterance] = []
            async with line.acknowledging:  # no other task of this device may acknowledge until these frames are sent
                while len(said) < BURST and (not said or said[-1].legal):
                    said.append(talk.next(line.acknowledged, line.last_seq))
                    if said[-1].legal and said[-1].name == "Acknowledge":
                        line.acknowledged = line.last_seq
                await self._send(talk, line, said)
            if not await self._is_read(talk, line, said):
                return False
            if not said[-1].legal or self._over:
                break
        return True

    async def _burst(self, talk: Conversation, line: Line, said: list[Utterance]) -> bool:
        await self._send(talk, line, said)
        return await self._is_read(talk, line, said)

    async def _send(self, talk: Conversation, line: Line, said: list[Utterance]) -> None:
        """Send the frames, and a ping after them."""
        for utterance in said:
            self.seen.last.append((talk.seed, utterance.name, utterance.frame))
            await line.send(utterance.frame)
        await line.send(talk.ping())

    async def _is_read(self, talk: Conversation, line: Line, said: list[Utterance]) -> bool:
        """Wait until the server has read the frames. Return False if the server ended the connection.

        A server that ended the connection counts as having read the first frame only, or all frames if the last frame
        was one that ends a connection.
        """
        went_on = await line.reads_up_to(talk.pinged, PATIENCE_S[self._engine])
        read = said if went_on or not said[-1].legal else said[:1]
        self.seen.frames += len(read)
        for utterance in read:
            self.seen.said[utterance.name] += 1
            self.seen.legal[utterance.name] += utterance.legal
            self.seen.extremes.update(utterance.extremes)
        if not went_on:
            self.seen.closed[line.closed] += 1
        return went_on

    async def _ask(self) -> None:
        """Act as an honest device that asks a question after every `EVERY` frames."""
        question, right = QUESTIONS[self._engine]
        while not self.seen.wrong and len(self.seen.waits_s) < self._frames // EVERY:
            if self.seen.frames < (len(self.seen.waits_s) + 1) * EVERY:
                await asyncio.sleep(0.01)
                continue
            start = time.monotonic()
            async with asyncio.timeout(PATIENCE_S[self._engine]):
                said = await answered(self._place, self._offer, question)
            if not said or (right and said != right.encode()):
                raise Broken(f"An honest device was answered {said!r}")
            self.seen.waits_s.append(time.monotonic() - start)

    async def _poll(self) -> None:
        """Forever, check that the server is ready and its log has no error."""
        while True:
            if error := next(iter(self._place.errors()), ""):
                self.seen.wrong.append(f"An error in the server's log: {error[:2000]}")
                return
            try:
                status, said = await probe(self._place, "/readyz")
            except (OSError, TimeoutError, ValueError) as error:
                status, said = 0, f"no reply ({type(error).__name__})"
            self.seen.polls += 1
            if status != HTTPStatus.OK:
                self.seen.wrong.append(f"/readyz: {status} {said}")
                return
            await asyncio.sleep(POLL_S)

    async def _show_progress(self) -> None:
        """Forever, print the progress."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            step(f"{self.seen.frames:,} of {self._frames:,} frames")

    async def _idle(self) -> None:
        """Wait until the server is idle. Raises Broken if it keeps resources of closed connections."""
        deadline = time.monotonic() + IDLE_S
        while time.monotonic() < deadline:
            _, text = await probe(self._place, "/metrics")
            if all(f"\njackdaw_{name} 0.0\n" in text for name in ("connections", "writing", "waiting")):
                return
            await asyncio.sleep(POLL_S)
        raise Broken("The server still generates or counts connections for devices that are gone.")


def fuzz(engine: EngineName, frames: int, seed: int, spoil: str = "") -> dict[str, Any]:
    """Start a server, send it frames, and end it. Return the figures as JSON data; `wrong` lists the failures.

    `spoil` names a function, as `module:name`, that is called with the server before it serves.
    """
    with tempfile.TemporaryDirectory(prefix="jackdaw-fuzz-") as home:
        start = time.monotonic()
        with serving(engine, Path(home), spoil) as place:
            memory = [place.memory_mb]
            campaign = Campaign(place, engine, frames, seed)
            seen = campaign.seen
            step(f"{frames:,} frames to a server with the {engine} engine")
            asyncio.run(campaign.run())
            seconds = time.monotonic() - start
            memory.append(place.memory_mb)
        code, errors = place.process.returncode, place.errors()
    if code != ExitCode.DONE:
        seen.wrong.append(f"The server ended with exit code {code}")
    if errors:
        seen.wrong.append(f"{len(errors)} errors in the server's log, the first: {errors[0][:2000]}")
    waits = sorted(seen.waits_s) or [0.0]
    figures = {
        "frames": seen.frames,
        "seconds": round(seconds, 1),
        "frames_per_s": round(seen.frames / seconds),
        "connections": seen.connections,
        "resumed": seen.resumed,
        "frames_by_message": dict(seen.said.most_common()),
        "legal_frames_by_message": dict(seen.legal.most_common()),
        "fields_with_extremes": len(seen.extremes),
        "connections_closed_by_code": dict(seen.closed.most_common()),
        "requests_ended": {name or "finished": count for name, count in seen.ended.most_common()},
        "honest_answers": len(seen.waits_s),
        "honest_wait_s": {"median": round(statistics.median(waits), 2), "longest": round(waits[-1], 2)},
        "readyz_200": seen.polls - sum(wrong.startswith("/readyz") for wrong in seen.wrong),
        "memory_mb": [round(megabytes) for megabytes in memory],
        "exit_code": code,
        "wrong": seen.wrong,
    }
    if seen.wrong:
        figures["last_frames"] = [f"{talk} {name} {_shown(frame)}" for talk, name, frame in seen.last]
    return {"name": "fuzz", "figures": figures, "settings": {"engine": engine, "frames": frames, "seed": seed}}


def _shown(frame: Frame) -> str:
    return (frame if isinstance(frame, str) else frame.hex())[:2000]
