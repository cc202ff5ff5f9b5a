"""Decides by its words whether a question must stay on this device.

A question must stay if it has a filter or something similar, names a file or folder of the person's, or may be a
follow-up. In doubt, it stays.
"""

import re
from collections.abc import Callable, Set
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from device_app.english import naming
from device_app.english.following import is_follow_up
from device_app.english.query import FILTERS, Query
from device_app.english.stop_words import HOW_ASKED, LANGUAGES, SMALL_TALK, STOP_WORDS
from device_app.english.terms import plain

OWN_ALONE: Final = "the question depends on your conversation or files, so it is not sent to a server"
MAY_NAME_FILES: Final = "the question may name a filter, file or folder of yours, so it stays on this device"
HOLDS_TEXT: Final = (
    "the request may hold a text of yours, so it stays on this device unless you send it (jackdaw ask --send, /send)"
)
NAMES_KNOWN: Final = (
    "the request may name a person or an address from your files, so it stays on this device unless you send it "
    "(--send, /send)"
)
ON_PHONE: Final = (
    "the question is about messages, contacts or calls on your phone, or about a person in them, so it stays on this "
    "device unless you send it (--send, /send)"
)

_PAIR = re.compile(r"(?<![\w/])([^\W\d]\w*)(\s*)[:：=](\s*)(?=\S)")
"""Matches a possible filter: a word, a colon, and a value. In a time or a verse number, a digit precedes the colon."""

_LIKE_A_FILTER = 0.7
"""The similarity (difflib) from which a word counts as a filter's name: `form`, `frmo` and `befor` do."""

_ALSO = ("to", "by", "folder", "file", "path", "person", "sender", "since", "until", "date", "day", "type", "subject")
"""Words that other programs use as names of filters."""

_PATH = re.compile(
    r"""(?<![\w.~])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.~]          # begins like one: /home, ~/notes, C:\Users
        | [\w.-]+[/\\][\w. -]+[/\\]                             # has folders: notes/2026/taxes
        | [^\W_]_[^\W_]                                         # no word of a sentence
        | [\w)\]]\.(?:7z|bmp|csv|docx?|eml|epub|gif|gz|heic|html?|ics|ipynb|jpe?g|jsonl?|key|log|mbox|md|mp3|mp4|msg
            |numbers|odp|ods|odt|org|pages|pdf|png|pptx?|ps|py|rst|rtf|sql|tar|te?xt?|toml|tsv|vcf|wav|webp|xlsx?|xml
            |ya?ml|zip)\b                                       # ends like a file""",
    re.VERBOSE | re.IGNORECASE,
)

_NAMED = re.compile(
    r"""["“”„«»‹›`]([^"“”„«»‹›`]{2,})["“”„«»‹›`] | (?<!\w)['‘’]([^'‘’]{2,})['‘’](?!\w) | ([^\s/\\]+[/\\][^\s?!,;]+)""",
    re.VERBOSE,
)
"""Matches a possible file name: text in quotation marks, or words joined by a slash."""

_ABOUT_PHONE = re.compile(
    r"\b(?:messag(?:e[sd]?|ing)|text(?:s|ed|ing)?|[sm]ms|call(?:s|ed|ing|ers?)?|r[aiu]ng|rings|ringing"
    r"|(?:tele)?phon(?:e[sd]?|ing)|numbers?|voice[ -]?mails?|contact(?:s|ed|ing)?)\b"
    r"|\d(?:[ ()./-]{0,2}\d){5}",
    re.IGNORECASE,
)
"""Matches words of questions about messages, calls and contacts, or a number of six digits or more."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_WORDS_INSIDE = re.compile(r"(?<=[\w,;] )[^\W\d_][\w'’-]*")
_ALSO_WORDS = STOP_WORDS | HOW_ASKED | SMALL_TALK | LANGUAGES
"""Words that count as a contact's name only with a capital inside the sentence."""

_NEXT_SENTENCE = re.compile(r"(?<=[.?!;])\s+")
_NEXT_CLAUSE = re.compile(
    r"[,;]?\s+(?:and|or|but|also|plus|then)\s+(?=(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does"
    r"|did|has|have|had|can|could|will|would|should)\b)",
    re.IGNORECASE,
)


def reason(asked: Query, follows: bool, held: Callable[[str], bool]) -> str:
    """Return why the question must not leave this device, as a sentence for the person; "" if a server may be asked.

    `follows`: the question may be a follow-up; `held(text)` returns whether the path of a stored file contains the
    text.
    """
    if follows or asked.is_limited:
        return OWN_ALONE
    return MAY_NAME_FILES if may_filter(asked.text) or may_name(asked.text, held) else ""


def may_be_about_phone(text: str, names: Set[str]) -> bool:
    """Return whether a question may be about a phone's messages, contacts or calls, or about somebody in them.

    `names` are the words of these persons' names, in lower case. A name that is also an English word ("Will") counts
    only with a capital inside the sentence.
    """
    if _ABOUT_PHONE.search(text):
        return True
    inside = {word for word in _WORDS_INSIDE.findall(text) if word[0].isupper()}
    for written in _WORD.findall(text):
        for word in naming.words(written):
            known = {word, word.removesuffix("s")} & names  # "annas message", as people type it
            if any(len(name) > 1 for name in known) and (plain(word) not in _ALSO_WORDS or written in inside):
                return True
    return False


def may_filter(text: str) -> bool:
    """Return whether the text of a question, without its parsed filters, still has a possible filter in it."""
    return any(
        (not before and not after) or _like_a_filter(word.casefold()) for word, before, after in _PAIR.findall(text)
    )


def may_name(text: str, held: Callable[[str], bool]) -> bool:
    """Return whether the text contains a possible path, or the quoted name of one of the person's files."""
    return bool(_PATH.search(text)) or any(
        held("".join(groups).strip()) for groups in _NAMED.findall(text) if "".join(groups).strip()
    )


def may_follow(asked: Query) -> bool:
    """Return whether the question, or one of several questions in it, may depend on an earlier message.

    A pronoun in a later clause may refer to an earlier clause of the sentence; a pronoun in the first clause may not.
    """
    sentences = _NEXT_SENTENCE.split(asked.text)
    parts = {asked.text, *sentences, *(_NEXT_CLAUSE.split(sentence)[0] for sentence in sentences)}
    return any(is_follow_up(replace(asked, text=part)) for part in parts if part.strip())


def _like_a_filter(word: str) -> bool:
    return word in _ALSO or any(SequenceMatcher(None, word, name).ratio() >= _LIKE_A_FILTER for name in FILTERS)
