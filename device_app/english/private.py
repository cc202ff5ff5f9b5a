"""Whether a question is for this device alone by its words: it has a filter or what may be one, names a file or folder
of the person's, or may follow on what was said. Where that is in doubt, it stays.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from device_app.english.following import is_follow_up
from device_app.english.query import FILTERS, Query

OWN_ALONE: Final = "what leans on your conversation or your files alone is nothing for the server"
MAY_NAME_FILES: Final = "it may name a filter, file or folder of yours, so that it stays on this device"

_PAIR = re.compile(r"(?<![\w/])([^\W\d]\w*)(\s*)[:：=](\s*)(?=\S)")
"""What may be a filter: a word, a colon, and what it is to be. A time or a verse has a number before its colon."""

_LIKE_A_FILTER = 0.7
"""How alike a word and the name of a filter have to be (difflib): `form`, `frmo` and `befor` are."""

_ALSO = ("to", "by", "folder", "file", "path", "person", "sender", "since", "until", "date", "day", "type", "subject")
"""What people call filters that are named otherwise, or that other programs have."""

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
"""What may be the name of a file: what stands in quotation marks, and what a slash joins."""

_NEXT_SENTENCE = re.compile(r"(?<=[.?!;])\s+")
_NEXT_CLAUSE = re.compile(
    r"[,;]?\s+(?:and|or|but|also|plus|then)\s+(?=(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does"
    r"|did|has|have|had|can|could|will|would|should)\b)",
    re.IGNORECASE,
)


def reason(asked: Query, follows: bool, held: Callable[[str], bool]) -> str:
    """Why nobody else is asked it, for the person; "" where a server may be.

    `follows` says whether it may follow on a conversation, `held(text)` whether the path of a file that was read has
    this in it.
    """
    if follows or asked.is_limited:
        return OWN_ALONE
    return MAY_NAME_FILES if may_filter(asked.text) or may_name(asked.text, held) else ""


def may_filter(text: str) -> bool:
    """Whether what is left of a question, once its filters are read, has what was perhaps meant as one."""
    return any(
        (not before and not after) or _like_a_filter(word.casefold()) for word, before, after in _PAIR.findall(text)
    )


def may_name(text: str, held: Callable[[str], bool]) -> bool:
    """Whether it has what looks like a path, or what the paths of the person's files have in them, quoted."""
    return bool(_PATH.search(text)) or any(
        held("".join(groups).strip()) for groups in _NAMED.findall(text) if "".join(groups).strip()
    )


def may_follow(asked: Query) -> bool:
    """Whether the question, or a part of one that asks twice, may lean on what was said before it.

    What a later clause points at, an earlier one of its sentence may name; what the first points at, none does.
    """
    sentences = _NEXT_SENTENCE.split(asked.text)
    parts = {asked.text, *sentences, *(_NEXT_CLAUSE.split(sentence)[0] for sentence in sentences)}
    return any(is_follow_up(replace(asked, text=part)) for part in parts if part.strip())


def _like_a_filter(word: str) -> bool:
    return word in _ALSO or any(SequenceMatcher(None, word, name).ratio() >= _LIKE_A_FILTER for name in FILTERS)
