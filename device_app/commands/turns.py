"""Asking a question, perhaps again in the place of its turn, and what helps where nothing is found."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shared.errors import NothingFound
from storage.conversations import ConversationStore, Turn

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.question.answer import Answer, Found, Wrote
    from device_app.question.options import Options


def last_if_any(conversations: ConversationStore) -> Turn | None:
    """What was asked last; None where nothing was. Raises StoreError."""
    newest = conversations.latest()
    turns = conversations.turns(newest) if newest is not None else []
    return turns[-1] if turns else None


def last(conversations: ConversationStore) -> Turn:
    """What was asked last. Raises NothingFound where nothing was, StoreError."""
    turn = last_if_any(conversations)
    if turn is None:
        raise NothingFound('Nothing has been asked yet. Ask something: jackdaw ask "…"')
    return turn


def asked(
    device: Device, question: str, options: Options, conversation: int | None, replaced: Turn | None
) -> Generator[Found | Wrote | Answer]:
    """Answer a question, with all that `Assistant.ask` tells meanwhile.

    The turn that it is to replace goes, with all behind it, once there is another answer. It stays if that fails or is
    interrupted.
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
    """Sentences that say why nothing was found, and what to do about it. Raises StoreError."""
    from device_app.knowledge.absence import not_asked, reasons

    yield from reasons(device.knowledge, question)
    if device.paths.link.exists():
        allowed = device.public is not None
        if reason := not_asked(question, connected=True, allowed=allowed, local_only=local_only):
            yield reason


@dataclass(frozen=True, slots=True)
class TurnStore(ConversationStore):
    """The conversations as one question sees them: without the turn it replaces and those behind that.

    The turn that it begins is noted in `new_turns`. What it replaces goes when there is something in its place.
    """

    replaces: int | None
    new_turns: list[Turn]

    def turns(self, conversation_id: int) -> list[Turn]:
        """The turns before the one that is replaced."""
        turns = ConversationStore.turns(self, conversation_id)
        return turns if self.replaces is None else [turn for turn in turns if turn.id < self.replaces]

    def begin(self, question: str, conversation_id: int | None = None) -> Turn:
        """Store the question."""
        turn = ConversationStore.begin(self, question, conversation_id)
        self.new_turns.append(turn)
        return turn

    def write(
        self,
        turn_id: int,
        answer: str,
        record: dict[str, Any] | None = None,
        *,
        egress: dict[str, Any] | None = None,
    ) -> None:
        """Store an answer; one that is complete takes its place."""
        ConversationStore.write(self, turn_id, answer, record, egress=egress)
        if record is not None:
            self.stands()

    def stands(self) -> None:
        """What was begun is to be kept, and takes its place."""
        if self.replaces is not None and self.new_turns:
            self.replace(self.replaces, self.new_turns[0])

    def failed(self) -> None:
        """Take back what was begun, if what it was to replace is there still."""
        if self.replaces is not None and self.new_turns and self.turns_with([self.replaces]):
            self.take_back(self.new_turns.pop())
