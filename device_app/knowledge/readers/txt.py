"""Reads plain text, and chats stored as text."""

from collections.abc import Iterator
from pathlib import Path

from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.decoding import decode_file, lines_of
from device_app.knowledge.readers.dialogues import dialogue_days, is_dialogue
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.paragraphs import numbered_blocks
from device_app.knowledge.readers.whatsapp import is_export, whatsapp_days
from shared.types import Document


def read_txt(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a text file as one note, or a chat as one document per day. Raises UnreadableFile."""
    lines = lines_of(decode_file(read_whole(path, max_bytes)))
    if is_export(lines):
        yield from whatsapp_days(lines, path)
        return
    if is_dialogue(lines):
        yield from dialogue_days(lines, path)
        return
    date = date_in(path.stem) or date_in(lines[0])
    yield Document("", "note", path.stem, tuple(numbered_blocks(lines)), date)
