"""The device's side of a race: runs the model in a thread, with commands to begin, to limit and to stop its writing."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec import structs

from device_app.companion.dispatch.events import Ended, Failed, Token
from device_app.companion.dispatch.race_report import Question
from device_app.companion.dispatch.sides import Broke, Inbox, Wrote, spelled
from device_app.inference.local import LocalSource
from device_app.question.options import SHORT_ANSWER
from models.interruptible import interruptible
from shared.ending import Piece
from shared.errors import GaveWay, JackdawError
from shared.prompt import Prompt
from shared.protocol import messages as m
from shared.trace import Trace


class DeviceSide:
    """The model on this device, with one stream of tokens at a time; a new stream waits for the end of the last."""

    def __init__(
        self,
        source: Callable[[], LocalSource],
        question: Question,
        inbox: Inbox,
    ) -> None:
        """Prepare the device's side of a race; `source` waits for the model and returns it, `inbox` takes events."""
        self.trace = Trace()
        self._source, self._question = source, question
        self._sampling, self._max_tokens, self._inbox = question.sampling, question.max_tokens, inbox
        self._stopped = threading.Event()
        self._allowed: float = float("inf")
        self._more = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, epoch: int, passages: Sequence[m.PublicPassage], accepted: Sequence[Piece]) -> None:
        """Start writing from these passages, after the accepted tokens; `epoch` is the number of this start."""
        self.close()
        self._stopped = threading.Event()
        self._allowed = float("inf")
        arguments = (epoch, tuple(passages), tuple(accepted), self._stopped)
        self._thread = threading.Thread(target=self._run, args=arguments, name="device side", daemon=True)
        self._thread.start()

    def allow(self, upto: int | None) -> None:
        """Allow the model to write tokens below the index `upto`; None lifts the limit."""
        with self._more:
            self._allowed = float("inf") if upto is None else upto
            self._more.notify()

    def stop(self) -> None:
        """Stop the stream of tokens, which ends within a batch."""
        self._stopped.set()
        with self._more:
            self._more.notify()

    def close(self) -> None:
        """Stop the stream of tokens, and wait until the engine is free."""
        self.stop()
        if self._thread:
            self._thread.join()
            self._thread = None

    def _run(
        self,
        epoch: int,
        passages: Sequence[m.PublicPassage],
        accepted: Sequence[Piece],
        stopped: threading.Event,
    ) -> None:
        try:
            source = self._source()
            prompt = self._fitted(passages, source)
            source = replace(source, engine=interruptible(source.engine, stopped.is_set))
            ids = _ids(accepted, source)
            # For a server with another vocabulary, the same text may be another number of this model's tokens.
            before = len(accepted) - len(ids)
            most = self._max_tokens - before
            drawn = source.go_on(prompt, ids, self._sampling, max_tokens=most, trace=self.trace)
            for index, token in enumerate(drawn, len(accepted)):
                piece = Piece(token, "", cut=index + 1 >= self._max_tokens)
                self._inbox.put(Wrote(Token("device", epoch, index, piece), time.monotonic()))
                with self._more:
                    while index + 1 >= self._allowed and not stopped.is_set():
                        self._more.wait()
                if stopped.is_set():
                    return
            self._inbox.put(Ended("device", epoch))
        except GaveWay:
            pass
        except JackdawError as error:
            self._inbox.put(Broke(Failed("device", epoch), str(error), time.monotonic()))
        except BaseException:
            self._inbox.put(Broke(Failed("device", epoch), "this device's model has failed", time.monotonic()))
            raise

    def _fitted(self, passages: Sequence[m.PublicPassage], source: LocalSource) -> Prompt:
        """Return the prompt with as many of the first passages as leave room for a short answer.

        If even the first passage leaves no room, the prompt holds only the beginning of that passage.
        """
        needed = min(self._max_tokens, SHORT_ANSWER)
        while True:
            prompt = self._question.prompt(passages, source.template)
            if source.room(prompt) >= needed or not passages:
                return prompt
            if len(passages) > 1:
                passages = passages[:-1]
            else:
                text = passages[0].text
                passages = (structs.replace(passages[0], text=text[: len(text) // 2]),) if text else ()


def _ids(accepted: Sequence[Piece], source: LocalSource) -> list[int]:
    """Return the token ids of the accepted text for this model: those of the pieces, or of the text tokenized again."""
    if all(piece.token >= 0 for piece in accepted):
        return [piece.token for piece in accepted]
    return source.engine.tokenize(spelled(accepted, source.engine.detokenize))
