"""Asks a question, replaces a turn by asking again, and advises on questions without relevant passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shared.errors import NothingFound
from storage.conversations import ConversationStore, Turn

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.question.answer import Events
    from device_app.question.options import Options


def last_if_any(conversations: ConversationStore) -> Turn | None:
    """Return the last turn of the newest conversation, or None if there is no turn. Raises StoreError."""
    newest = conversations.latest()
    turns = conversations.turns(newest) if newest is not None else []
    return turns[-1] if turns else None


def last(conversations: ConversationStore) -> Turn:
    """Return the last turn of the newest conversation. Raises NothingFound if there is no turn; StoreError."""
    turn = last_if_any(conversations)
    if turn is None:
        raise NothingFound('Nothing has been asked yet. Ask something: jackdaw ask "…"')
    return turn


def was_model_only(turn: Turn | None) -> bool:
    """Return whether a model wrote the turn's answer without files, or began to, because the person asked for a model
    alone.

    A request that was recognised as needing no files does not count, as it is recognised again.
    """
    if turn is None or not turn.record.get("model_only") or not turn.record.get("found", True):
        return False
    from device_app.answering.planner import AS_ASKED

    return AS_ASKED in turn.record["trace"]["decided"]


def asked(device: Device, question: str, options: Options, conversation: int | None, replaced: Turn | None) -> Events:
    """Answer a question and yield all events of `Assistant.ask`.

    Once the new answer is complete, `replaced` and the turns after it are deleted. They stay if the new answer fails or
    is interrupted.
    """
    if replaced is None:
        yield from device.assistant.ask(question, options, conversation)
        return
    store = TurnStore(device.database, replaced.id, [])
    try:
        yield from replace(device.assistant, conversations=store).ask(question, options, conversation)
    finally:
        store.failed()


def advice(device: Device, question: str, *, local_only: bool = False) -> Iterator[str]:
    """Yield sentences that say why nothing was found for a question and what to do about it. Raises StoreError.

    `local_only`: the person gave --local-only.
    """
    from device_app.knowledge.absence import not_asked, reasons

    yield from reasons(device.knowledge, device.people, question)
    if device.paths.link.exists():
        allowed = device.public is not None
        if reason := not_asked(question, connected=True, allowed=allowed, local_only=local_only):
            yield reason


@dataclass(frozen=True, slots=True)
class TurnStore(ConversationStore):
    """A view of the conversations for one question: without the turn that it replaces and those after that turn.

    `replaces` is that turn's id, None if it replaces none. `new_turns` collects the turns that the question starts. The
    replaced turns are deleted once a new answer is complete.
    """

    replaces: int | None
    new_turns: list[Turn]

    def turns(self, conversation_id: int) -> list[Turn]:
        """Return the conversation's turns before the one that is replaced."""
        turns = ConversationStore.turns(self, conversation_id)
        return turns if self.replaces is None else [turn for turn in turns if turn.id < self.replaces]

    def begin(self, question: str, conversation_id: int | None = None) -> Turn:
        """Store a question as a new turn and add it to `new_turns`."""
        turn = ConversationStore.begin(self, question, conversation_id)
        self.new_turns.append(turn)
        return turn

    def write(
        self,
        turn_id: int,
        answer: str,
        record: dict[str, Any] | None = None,
        *,
        so_far: dict[str, Any] | None = None,
    ) -> None:
        """Store an answer; a complete one, with a `record`, replaces the turn that was asked again, and all turns after
        it.
        """
        ConversationStore.write(self, turn_id, answer, record, so_far=so_far)
        if record is not None:
            self.stands()

    def stands(self) -> None:
        """Delete the old turn and those after it, as the first new turn replaces them."""
        if self.replaces is not None and self.new_turns:
            self.replace(self.replaces, self.new_turns[0])

    def failed(self) -> None:
        """Delete the new turn, if the turn that it should have replaced still exists."""
        if self.replaces is not None and self.new_turns and self.turns_with([self.replaces]):
            self.take_back(self.new_turns.pop())
