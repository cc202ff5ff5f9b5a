"""Reads the words that name an event, in its title or in a sentence about it. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from device_app.english import clocks, dates
from device_app.english.stemming import stemmed
from device_app.english.stop_words import STOP_WORDS, word_set
from device_app.english.terms import plain

_HEADS: Final = word_set("of for with about")
_ASIDE: Final = word_set("in at on to by from until till due after before between during")
_PREPOSITION: Final = re.compile(rf"\b({'|'.join(sorted(_HEADS | _ASIDE))})\b")
_FILLER: Final = STOP_WORDS | word_set(
    """now also already just unfortunately sadly therefore thus only sorry finally hereby actually once however
        regrettably hi hello hey dear ok okay oh well yes thanks thank apologies afraid note update news info
        correction reminder plan plans annual yearly weekly monthly daily regular usual next coming upcoming following
        first evening morning afternoon night planned scheduled whole let lets bad fyi ps re fwd quick today tomorrow
        tonight yesterday week weekend need needs must got gets going"""
)
SOFT: Final = frozenset(
    map(stemmed, word_set("training lesson class course courses workout practice session visit trip"))
)
"""Stems of words that may be left out of an event's name: "swimming" is the swimming course."""

_GENERIC: Final = word_set(
    """appointment appointments date time times start meeting session event visit slot schedule booking reservation day
    hour everything occasion gathering get-together place venue room location address
    technician engineer mechanic colleague team"""
)


def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words that name an event in its title, without those that suit any event."""
    return tuple(stem for word in _words(text) if word not in _GENERIC for stem in (stemmed(word),))


def general(text: str) -> tuple[str, ...]:
    """Return the words of a text that suit many events, such as "meeting"."""
    return tuple(word for word in _words(text) if word in _GENERIC)


def _words(text: str) -> Sequence[str]:
    """Return the content words of a name, without days, times, and what stands behind "in", "at" or "on"."""
    text = clocks.without(dates.without(clocks.in_full(plain(text).replace("’", "'"))))
    parts = _PREPOSITION.split(text)
    kept = [parts[0], *(part for word, part in zip(parts[1::2], parts[2::2], strict=True) if word in _HEADS)]
    words = re.findall(r"[^\W\d_][\w-]*", re.sub(r"'s\b", " ", " ".join(kept)))
    return [word for word in dict.fromkeys(words) if word not in _FILLER and len(word) > 1]
