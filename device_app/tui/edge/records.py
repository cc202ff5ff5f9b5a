"""Reads conversations, turns and passages for the app. Never waits for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from device_app.tui.edge.thread import DeviceThread

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from device_app.commands.history import Format
    from device_app.commands.today import Today
    from device_app.device import Device
    from device_app.tui.edge.facts import Conversation, Passage, Totals, Turn

_USED = "used command "
"""The prefix of the names of the counters for commands."""

CONTEXT_PASSAGES = 2
"""The number of passages shown before and after a source."""


class Records:
    """Read access to conversations, turns and passages, in a thread of its own. Every method raises StoreError."""

    def __init__(self, open_device: Callable[[], Device]) -> None:
        self._thread = DeviceThread("records", open_device)

    async def totals(self) -> Totals:
        """Return the numbers of stored folders, files, documents, passages and skipped files."""
        return await self._thread.run(lambda device: device.knowledge.totals())

    async def conversations(self, limit: int, offset: int = 0) -> Sequence[Conversation]:
        """Return conversations, the latest first."""
        return await self._thread.run(lambda device: device.conversations.recent(limit, offset))

    async def search(self, words: str, limit: int) -> Sequence[Turn]:
        """Return turns with all the words, the best match first; the last word may be a prefix."""
        return await self._thread.run(lambda device: device.conversations.search(words, limit, prefix=True))

    async def turn_ids(self, conversation: int) -> Sequence[int]:
        """Return the ids of a conversation's turns, in order."""
        return await self._thread.run(lambda device: device.conversations.turn_ids(conversation))

    async def turns(self, ids: Sequence[int]) -> Sequence[Turn]:
        """Return the turns with these ids, the oldest first; deleted ones are left out."""
        return await self._thread.run(lambda device: device.conversations.turns_with(ids))

    async def passage(self, identity: int) -> Passage | None:
        """Return a passage with the text around it; None if it no longer exists."""
        return await self._thread.run(lambda device: _passage(device, identity))

    async def mark_wrong(self, turn: Turn) -> tuple[str, Turn]:
        """Mark a turn's answer as wrong, or remove the mark; return a message about the consequences and the new turn.

        Raises NothingFound if the turn gave no answer.
        """
        return await self._thread.run(lambda device: _mark_wrong(device, turn))

    async def forget(self, conversation: int) -> None:
        """Delete a conversation and the kept answers to its questions. Raises NotWritable."""

        def forget(device: Device) -> None:
            from device_app.commands.history import forget

            forget(device, conversation)

        await self._thread.run(forget)

    async def export(self, conversation: int, form: Format, folder: Path) -> Path:
        """Write a conversation to a new file in the folder, as "md" or "json"; return the file. Raises NotWritable."""
        return await self._thread.run(lambda device: _export(device, conversation, form, folder))

    async def today(self, now: datetime) -> Today:
        """Return today's events, and the documents that are new since yesterday. `now` has the person's time zone."""

        def read(device: Device) -> Today:
            from device_app.commands.today import today

            return today(device, now)

        return await self._thread.run(read)

    async def uses(self) -> Mapping[str, int]:
        """Return how often each command was used, by the id of its action."""
        return await self._thread.run(
            lambda device: {
                name.removeprefix(_USED): int(value)
                for name, value in device.counters.all().items()
                if name.startswith(_USED)
            }
        )

    async def note_use(self, action: str) -> None:
        """Count one use of a command. Raises NotWritable."""

        def note(device: Device) -> None:
            name = f"{_USED}{action}"
            device.counters.set(name, device.counters.all().get(name, 0) + 1)

        await self._thread.run(note)

    def reopen(self) -> None:
        """Load the settings again."""
        self._thread.reopen()

    def close(self) -> None:
        """Close the store."""
        self._thread.close()


def _passage(device: Device, identity: int) -> Passage | None:
    from device_app.tui.edge.facts import Passage

    passage = device.knowledge.passages([identity]).get(identity)
    if passage is None:
        return None
    around = device.knowledge.passages_around(passage, CONTEXT_PASSAGES)
    near = [neighbour for neighbour in around if neighbour.document_id == passage.document_id]
    before = "\n\n".join(neighbour.text for neighbour in near if neighbour.ordinal < passage.ordinal)
    behind = "\n\n".join(neighbour.text for neighbour in near if neighbour.ordinal > passage.ordinal)
    return Passage(passage, before, behind)


def _mark_wrong(device: Device, turn: Turn) -> tuple[str, Turn]:
    from device_app.commands import marking

    if turn.record.get("wrong"):
        marking.undo_turn(device, turn)
        message = "No longer marked as wrong."
    else:
        message = marking.mark_turn(device, turn).message
    now = device.conversations.turns_with([turn.id])
    return message, now[0] if now else turn


_TITLE = 40
"""The most characters of a question in a file's name."""


def _export(device: Device, conversation: int, form: Format, folder: Path) -> Path:
    import itertools
    import re

    from device_app.commands.history import exported
    from device_app.presentation import local_time
    from storage.private import write_private

    turns = device.conversations.turns(conversation)
    title = "-".join(re.findall(r"\w+", turns[0].question.lower()))[:_TITLE].strip("-_") if turns else ""
    name = "-".join(filter(None, ("jackdaw", local_time(turns[0].asked_at)[:10] if turns else "", title)))
    names = (f"{name}{'' if n == 1 else f'-{n}'}.{form}" for n in itertools.count(1))
    file = next(folder / name for name in names if not (folder / name).exists())
    write_private(file, exported(conversation, turns, form))
    return file
