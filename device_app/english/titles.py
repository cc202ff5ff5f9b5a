"""Parses questions for a mail by its title: "the mail called Roof", "open the mail Eight Mondays"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from device_app.english.slots import Slot, Vocabulary, normal

ADDRESS: Final = frozenset(["email", "e-mail"])
"""Words for a mail that are also words for an address: "Hrovat's email"."""

_QUOTED: Final = re.compile(r"(?<!\w)[\"'](.+)[\"'](?!\w)")
_BEFORE_TITLE: Final = re.compile(r"^(?:(?:is|was|of|line|as|reads|reading|named|the|:|-)\s+|[:-]\s*)+")
_BEHIND_TITLE: Final = re.compile(
    r"(?:[ ,]+(?:what does it say|says?|about|contains?|please|arrive|come|came|sent|from|read|mean|received?|again))+$"
)


def read(said: str, words: Vocabulary) -> Iterator[dict[str, str]]:
    """Yield how a question in lower case asks for a mail by its title: in quotes, or after "titled" or "mail".

    Each reading has the `title`, and in `by` how the mail is asked for: "author" if the question asks for the sender,
    "explicit" if it says that this is a title, else "implicit".
    """
    if quoted := _QUOTED.search(said):
        slots = words.read(normal(f"{said[: quoted.start()]} {said[quoted.end() :]}".strip()))
        around = {slot.kind for slot in slots}
        if not around & {"", "other", "note", "chat", "file", "about", "many", "talk"} and not around >= {"who", "say"}:
            yield _titled(quoted[1], slots, is_explicit="named" in around)
        return
    slots = words.read(said)
    kinds = [slot.kind for slot in slots]
    if "named" in kinds and not _asks_for_title(slots, place := kinds.index("named")):
        before = slots[:place]
        is_mail = bool({"mail", "message"} & set(kinds[:place])) or slots[place].text.endswith(("subject", "title"))
        title = _behind(said, slots[place].text)
        if is_mail and title and not set(kinds[:place]) & {"", "other", "note", "chat", "file"}:
            yield _titled(title, before, is_explicit=True)
    if "mail" in kinds and (place := kinds.index("mail")) < len(slots) - 1 and not slots[place].text.endswith("s"):
        title = _behind(said, slots[place].text)
        is_open = not set(kinds[:place]) & {"", "other", "many", "last", "first", "most", "note", "may"}
        is_open &= not (slots[place].text in ADDRESS and slots[place + 1].kind == "of")
        if title and is_open:
            about = re.sub(r"^(?:about|re|regarding|on|called|with)\s+", "", title)
            yield from (_titled(each, slots[:place], is_explicit=False) for each in dict.fromkeys((title, about)))


def _asks_for_title(slots: Sequence[Slot], place: int) -> bool:
    """Return whether the title is asked for, not given: "the subject of the mail from Tom", "what is it called"."""
    behind = slots[place + 1 :]
    return (
        not behind or behind[0].kind in ("of", "may", "i") or any(slot.kind in ("mail", "message") for slot in behind)
    )


def _behind(text: str, words: str) -> str:
    """Return the title that follows these words, without other words that ask for it."""
    return _BEFORE_TITLE.sub("", text[re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text).end() :].strip())  # type: ignore[union-attr]


def _titled(title: str, around: Sequence[Slot], *, is_explicit: bool) -> dict[str, str]:
    by = "author" if any(slot.kind == "who" for slot in around) else "explicit" if is_explicit else "implicit"
    return {"title": _BEHIND_TITLE.sub("", title).strip(" \"'"), "by": by}
