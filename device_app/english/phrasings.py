"""Masks what a question is about, so that its form can be compared with forms that the rules understand.

"What did Anna get up to on Friday?" becomes "what did NAME get up to DATE". A table, `vocabularies/phrasings.txt`,
lists forms of plain questions, which rules understand, with the same masks: an unindented line is a plain question, the
indented ones below it are other forms of it. Which form is the nearest is decided elsewhere, by meaning; here are
compared the words that meaning alone would confuse, such as "first" and "last".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final

from device_app.english.politeness import bare
from device_app.english.slots import VOCABULARIES, Vocabulary
from device_app.english.stop_words import STOP_WORDS
from device_app.english.windows import window_in

_MOST_CHARACTERS: Final = 160
_LONGEST_DATE: Final = 6
"""The most words of a date."""

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’.@&/+:-][^\W_]+)*")
_QUOTED: Final = re.compile(r"[\"“]([^\"”]+)[\"”]")
_MASK: Final = re.compile(r"\b(?:NAME|DATE|TOPIC|TITLE)\b")
_OWNER: Final = re.compile(r"['’]s$")
_TWICE: Final = re.compile(r"\b(?:on|from|for) (?=(?:on|in|at|during|over|from|between|since)\b)")
"""Matches a preposition of a form before that of a date: "what is on on Friday"."""

_TITLE: Final = "QTITLE"
_OF_DATES: Final = re.compile(
    r"\d|day|week|month|year|morrow|night|morning|noon|evening|weekend|fortnight|christmas|easter|halloween|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|spring|summer|autumn|winter)"
)
_LIKE_DATES: Final = frozenset(["may", "march", "week", "month", "day", "year", "noon", "night", "morning", "evening"])
"""Words that name no day by themselves, or that are other words as well."""

_NAMES_AND_MONTHS: Final = frozenset(["may", "march", "april", "june", "august"])

_CUES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bwhen\b(?! (?:i|we|he|she|it|they) (?!was|were|am|did)\w)|(?:what|which) (?:day|date)|\bdate\b|what time",
        r"\bwho\b|\bwhom\b|whose",
        r"how many|how often|number of|\bcount|how frequently", r"\b(?:last|latest|newest|most recent)",
        r"\bfirst\b|earliest|oldest", r"\bnext\b", r"phone|\bnumber\b(?! of)|\bring\b|\bcall\b|mobile",
        r"\b(?:second|third|fourth|fifth|sixth|penultimate|\d+(?:st|nd|rd|th)|last but|before last|after next)\b",
        r"\baddress|by e?-?mail", r"\bnotes?\b|diary|entr(?:y|ies)", r"\bchats?\b|texted|text\b",
        r"\b(?:called|title|subject|named?)\b", r"how long|how far|how soon|days until",
        r"\bfree\b|\bbusy\b|time for|have time|room", r"\bhow (?:do|does|can|could) (?:i|we)\b",
        r"\bwhere\b|which place|venue", r"what time", r"weekday|day of the week", r"\btime is\b|time in", r"how old",
        r"\bnot?\b|n't\b|\bn(?:ever|either|or|one|obody|othing)\b|without|except|exclud|hardly|\bbesides\b|\bapart\b"
        r"|\bbut\b|(?:other|rather) than",
        r"\bthat (?:(?:the|my|our|a|an|his|her|their) )?(?:[a-z]+|TOPIC|NAME) "
        r"(?:is|are|was|were|had|has|have|will|would|can|could)\b", r"\bwhy\b|because", r"\bor\b",
        r"\b(?:more|less|fewer|most|least|than)\b", r"how much|\bcosts?\b|\bpa(?:y|id)\b|\bprice|\beuros?\b",
        r"attach|unread|unopened|unanswered|important|urgent|deleted|drafts?\b|spam|flagged|starred",
        r"repl(?:y|ied)|answer|respond", r"cancel|postpone|\bmoved?\b|chang|instead|\bstill\b",
        r"\b(?:before|until|till)\b", r"\b(?:after|since)\b", r"\bbetween\b", r"\bby (?:the )?DATE",
        r"\b(?:always|usually|every|each)\b", r"\bborn\b|birthday",
        r"\b(?:if|unless|suppos(?:e|ing)|in case)\b", r"\bmean(?:s|ing)?\b", r"\bback\b(?! to)",
        r"\b(?:will|would|can|could|shall|should|might|must) NAME", r"NAME (?:will|would|can|could|shall|should|must)",
        r"\b(?:was|were|did|had|went|came|happened?)\b",
        r"\b(?:i|we) (?:\w+ )?(?:sa(?:id|y)|tell|told|let|writ|wrote|mention|send|sent|mail|text)",
    )
)  # fmt: skip
"""Words of which two forms have to have the same, for meaning alone takes them for one another. Forms are in lower
case but for their masks, which are no such words.
"""

_DOES: Final = re.compile(
    r"\b(?:do|does|did|has|have|had) (?:NAME|i|we) (?:(?:ever|just|first|last|next|really|actually|also|even|once|"
    r"already|happen to|get to) )*(?P<verb>(?:have to )?\w+(?: up)?)"
)
"""Matches what somebody did, does or has done."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A question's form: its `text` with masks. `slots` are the masks in order, each with the words it stands for."""

    text: str
    slots: tuple[tuple[str, str], ...]

    @property
    def masks(self) -> tuple[str, ...]:
        """The masks in alphabetical order."""
        return tuple(sorted(mask for mask, _ in self.slots))

    def filled(self, form: str) -> str:
        """Return a form of the same masks with this question's words in their places."""
        left = {mask: [words for name, words in self.slots if name == mask] for mask in self.masks}
        return _TWICE.sub("", _MASK.sub(lambda match: left[match[0]].pop(0), form))


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a question in the table, and the plain question that it stands for."""

    text: str
    plain: str

    @property
    def masks(self) -> tuple[str, ...]:
        """The masks in alphabetical order."""
        return tuple(sorted(_MASK.findall(self.text)))


def masked(question: str, today: date, is_name: Callable[[str], bool]) -> Masked | None:
    """Return a question's form; None if it is too long, has nothing that can be masked, or a name that is a month's.

    `is_name` says whether a word in lower case is part of somebody's name.
    """
    asked = bare(question)
    if len(asked) > _MOST_CHARACTERS:
        return None
    slots = [("TITLE", f'"{title}"') for title in _QUOTED.findall(asked)]
    words, text = _TOKEN.findall(_QUOTED.sub(f" {_TITLE} ", asked)), list[str]()
    while words:
        mask, count = _mask(words, today, is_name, is_first=not text)
        said = " ".join(words[:count])
        if mask == "NAME" and _OWNER.sub("", said.lower()) in _NAMES_AND_MONTHS:
            return None
        if words[0] == _TITLE:
            text.append("TITLE")
        elif mask:
            text.append(f"{mask}'s" if mask == "NAME" and _OWNER.search(said) else mask)
            slots.append((mask, _OWNER.sub("", said) if mask == "NAME" else said))
        else:
            text.append(said.lower())
        words = words[count:]
    return Masked(" ".join(text), tuple(slots)) if slots else None


def _mask(words: Sequence[str], today: date, is_name: Callable[[str], bool], *, is_first: bool) -> tuple[str, int]:
    """Return the mask of the first words, "" for words that ask, and how many words it covers."""
    if count := _date_length(words, today):
        return "DATE", count
    word = _OWNER.sub("", words[0].lower())
    is_known = words[0].lower() in _asking_words() or word in _asking_words()
    if is_name(word) and (not is_known or (words[0][0].isupper() and not is_first)):
        return "NAME", _name_length(words, is_name)
    if is_known or words[0] == _TITLE:
        return "", 1
    others = (place for place, each in enumerate(words) if each.lower() in _asking_words() or is_name(each.lower()))
    return "TOPIC", max(1, next(others, len(words)))


def _name_length(words: Sequence[str], is_name: Callable[[str], bool]) -> int:
    """Return how many of the first words, which begin with a name, are parts of it; a genitive ends it."""
    count = 1
    while count < len(words) and not _OWNER.search(words[count - 1]):
        if not is_name(_OWNER.sub("", words[count].lower())):
            break
        count += 1
    return count


def _date_length(words: Sequence[str], today: date) -> int:
    """Return how many of the first words name days; 0 if they name none."""
    for count in range(min(_LONGEST_DATE, len(words)), 0, -1):
        said = " ".join(words[:count]).lower()
        if said not in _LIKE_DATES and _OF_DATES.search(said):
            named = window_in(said, today)
            if named and not named[1]:
                return count
    return 0


def same_cues(text: str, other: str) -> bool:
    """Return whether two forms have the same words that meaning alone would confuse."""
    return all(bool(cue.search(text)) == bool(cue.search(other)) for cue in _CUES)


def has_known_deeds(text: str) -> bool:
    """Return whether all that somebody did or does in a form is a deed of the table's forms, or one of speech.

    Meaning alone takes "when did NAME forget the TOPIC" for "when did NAME mention the TOPIC".
    """
    return {match["verb"] for match in _DOES.finditer(text)} <= _deeds()


@cache
def _deeds() -> frozenset[str]:
    """Return the verbs of the table, and the verbs of speech."""
    said = {words for words, kind in Vocabulary.load("hearsay").kinds.items() if kind == "say"}
    return frozenset(match["verb"] for form in table() for match in _DOES.finditer(form.text)) | said


def shown(form: str) -> str:
    """Return a form with ordinary words in the place of its masks, whose meaning can be compared."""
    words = {"NAME": "Anna", "DATE": "Friday", "TOPIC": "something", "TITLE": '"a title"'}
    return _MASK.sub(lambda match: words[match[0]], form)


@cache
def table() -> tuple[Form, ...]:
    """Return the forms of the table, each plain question first."""
    text = (VOCABULARIES / "phrasings.txt").read_text(encoding="utf-8")
    return tuple(_forms(text.splitlines()))


def _forms(lines: Sequence[str]) -> Iterator[Form]:
    plain = ""
    for line in lines:
        if line.strip() and not line.startswith("#"):
            plain = plain if line.startswith(" ") else line
            yield Form(line.strip(), plain)


@cache
def _asking_words() -> frozenset[str]:
    """Return the words of which questions are made, unlike names and topics."""
    names = ("agenda", "documents", "persons", "hearsay", "moments", "days", "frames", "sums")
    known = frozenset[str]().union(*(Vocabulary.load(name).words for name in names))
    return known | STOP_WORDS | {"what's", "who's", "when's", "where's", "how's", "there's", "let's", "that's"}
