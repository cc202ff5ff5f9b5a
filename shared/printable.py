"""Foreign text made harmless for a terminal. Light: whatever draws imports it first of all."""

import re
import unicodedata

_LINE_BREAK = re.compile(r"\r\n?|[\f\v\x85\u2028\u2029]")
# Control characters, halves of surrogate pairs, and the marks that reorder text on the screen.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]")

# Marks that reorder text on the screen, and signs that nobody sees: with them a file's name can pass for another.
# The two joiners stay: emoji are made with them, and some scripts need them.
_DECEIVING = dict.fromkeys(
    (
        *(0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
    )
)


def printable(text: str) -> str:
    """The text without what could drive or deceive a terminal; line breaks and tabs stay, other breaks become them."""
    return _UNPRINTABLE.sub("", _LINE_BREAK.sub("\n", text))


def safe(text: str) -> str:
    """Foreign text for the terminal: no control characters, so no escapes, nothing that reorders or hides."""
    return printable(text.replace("\r\n", "\n")).translate(_DECEIVING)


def safe_line(text: str) -> str:
    """The same on one line."""
    return " ".join(safe(text).split())


def visible(text: str) -> bool:
    """Whether anybody sees anything of it: a character that is no space, control or mark of the writing's direction."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in text)


def escaped(text: str) -> str:
    """Foreign text for a log: what could drive a terminal, reorders, hides or breaks the line is shown as its code."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def counted(count: int, noun: str) -> str:
    """So many of something."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
