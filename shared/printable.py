"""Makes foreign text safe for a terminal. Imports few modules, as every drawing module imports it."""

import re
import unicodedata

_LINE_BREAK = re.compile(r"\r\n?|[\f\v\x85\u2028\u2029]")
# Control characters, surrogates, and marks that reorder text on the screen.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]")

# Marks that reorder text on the screen, and invisible characters, with which one file name can imitate another. The two
# joiners stay: emoji and some scripts need them.
_DECEIVING = dict.fromkeys(
    (
        *(0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
        *(*range(0x13430, 0x13456), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)),
        *range(0xE0000, 0xE0080),
    )
)


def printable(text: str) -> str:
    """Return the text without control characters and most marks that reorder text; `safe` removes more.

    Tabs and line breaks stay; carriage returns, form feeds and the like become line breaks.
    """
    return _UNPRINTABLE.sub("", _LINE_BREAK.sub("\n", text))


def safe(text: str) -> str:
    """Return foreign text without control characters (and so terminal escapes), reordering and invisible characters.

    Line breaks and tabs stay.
    """
    return printable(text.replace("\r\n", "\n")).translate(_DECEIVING)


def safe_line(text: str) -> str:
    """Return foreign text made safe for the terminal, on one line."""
    return " ".join(safe(text).split())


def visible(text: str) -> bool:
    """Return whether the text has a visible character, which is no space, control character or direction mark."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in text)


def escaped(text: str) -> str:
    """Return foreign text for a log on one line, with unprintable characters shown as escape codes."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def counted(count: int, noun: str) -> str:
    """Return the count and the noun, in the plural unless the count is 1."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
