"""Finds the topic of an encyclopedia passage, and the sentences about the topic. Independent of questions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from scripts.answerer.encyclopedia_forms import PARTICLE, UPPER
from scripts.answerer.encyclopedia_kinds import KINDS

_ABBREVIATED = re.compile(
    rf"(?:\b[{UPPER}]|\b(?:St|Mr|Mrs|Ms|Dr|Jr|Sr|No|Nos|vs|v|c|ca|d|b|r|Lt|Col|Gen|Capt|Sgt|Rev|Hon|Prof|Mt|Ft|Bros|Inc|Ltd|Co|Vol|"
    r"Op|feat|ft|approx|est|fl|Sen|Rep|Gov|Pt|etc|lit|Ph\.D|U\.S|a\.k\.a|i\.e|e\.g|Jan|Feb|Mar|Apr|Aug|Sept|Oct|Nov|Dec))\.$"
)
_BREAK = re.compile(rf"(?<=[.!?])[\"”’']?\s+(?=[\"“(]?\s?[{UPPER}\d])")


@lru_cache(maxsize=4)
def sentences(text: str) -> tuple[str, ...]:
    """Split the text at full stops, except after abbreviations and initials. Each sentence is returned as a span of the
    text.
    """
    spans, start = [], 0
    for gap in _BREAK.finditer(text):
        if _ABBREVIATED.search(text, max(start, gap.start() - 12), gap.start()):
            continue
        spans.append(text[start : gap.end()].strip())
        start = gap.end()
    spans.append(text[start:].strip())
    return tuple(sentence for sentence in spans if sentence)


def tidy(span: str) -> str:
    """Return the span as a person would type it: without quotation marks, and without the spaces that tokenisation
    left.
    """
    span = re.sub(r"[\"“”]", " ", span)
    span = re.sub(r"(?<=\w)\s?([-–])\s(?=\w)", r"\1", span)
    span = re.sub(r"(?<=\w)\s(?=[’']s\b)|\s(?=[,.;:)!?])|(?<=\()\s|(?<=\s[‘'])\s", "", span)
    span = re.sub(r"\b(\w+?) n't\b", r"\1n't", span)
    span = re.sub(r"(?<=\w)(?<!\s)(&) ", r" & ", span)
    return re.sub(r"\s+", " ", span).strip(" ,;:")


@dataclass(frozen=True, slots=True)
class Topic:
    """The subject of a passage: its name in questions, its kind, and the nouns that refer to it."""

    name: str
    kind: str
    nouns: frozenset[str]
    opening: "Statement | None"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a sentence about the topic. `lead` is the part of the sentence before it ("In 1912"), `aside` the
    text in brackets after the topic.

    `predicate` begins with the verb, or with "'s" if the sentence is about something that belongs to the topic.
    """

    sentence: str
    lead: str
    aside: str
    predicate: str


_ASIDE = r"(?:\s*,?\s*(?P<aside>\((?:[^()]|\([^()]*\))*\)))?"
_OPENING = re.compile(rf"^(?P<subject>[^()]{{1,90}}?){_ASIDE}(?:\s*,)?\s+(?P<rest>(?:is|was|are|were)\s.*)$", re.DOTALL)
_LEAD = re.compile(
    r"(?P<lead>(?:In|On|At|After|By|From|During|Since|Until|Before|As of)\s[^,]{2,60}?(?:\s\d{1,2},\s\d{4})?),\s"
)
_HEAD = re.compile(r"^(?:is|was|are|were)\s(?:an?|the|one of the|one of)\s(?P<phrase>.+)", re.DOTALL)
_HEAD_END = re.compile(
    r"\s(?:who|that|which|whose|where|by|in|of|from|for|at|on|to|with|about|located|situated|directed|written|produced|"
    r"starring|released|recorded|performed|based|published|composed|made|created|known|best|born|and was|and is|"
    r"featuring|active|serving|playing|currently|built|designed|set|as|set|under|between|near|during|adapted|used|"
    r"developed|founded|established|formed|distributed|sung|found|since|without|whom)\b|[.;(]|,\s(?:who|which|and\s(?:is|was))"
)

_LIVED = re.compile(r"\bborn\b|\bdied\b|\d{3,4}\s?[-–]\s?(?:[\w. ]*\s)?\d{3,4}")
_WORKS = {"film", "movie", "song", "album", "novel"}
_EVENT = re.compile(
    r"\d|^The |^List |\b(?:War|Battle|Dynasty|Empire|Kingdom|Revolution|Crisis|Act|Movement|Republic|Era)\b"
)
_CALLED = {"film": "the film ", "song": "the song ", "album": "the album ", "book": "", "series": "the series "}


def _heads(predicate: str) -> list[str]:
    """Return the head nouns of a definition, in lower case: "a poet and singer who" gives poet and singer."""
    match = _HEAD.match(predicate)
    if match is None:
        return []
    phrase = match["phrase"][:200]
    end = _HEAD_END.search(phrase)
    phrase = phrase[: end.start()] if end else phrase
    parts = [re.findall(r"[\w-]+", part.lower()) for part in re.split(r",|\sand\s|/|\sor\s", phrase)]
    return [_head(words) for words in parts if words]


def _head(words: list[str]) -> str:
    """Return the head noun of a phrase: the last word, or the last one that names a work ("film adaptation" gives film;
    "village head" does not give village).
    """
    works = [word for word in words if word in _WORKS]
    return words[-1] if words[-1] in KINDS or not works else works[-1]


def _plausible_subject(subject: str, title: str) -> bool:
    if re.match(r"(?:When|While|After|Before|In|On|At|As|Although|If|Since|During|Despite|Because|For|By)\b", subject):
        return False
    words = set(re.findall(r"\w{2,}", title.lower()))
    said = re.findall(r"[^\W\d_]\w*", subject)
    lower = [word for word in said if word[0].islower() and word.lower() not in words]
    return bool(words & {word.lower() for word in said}) and all(
        re.fullmatch(PARTICLE + "|or|and|also|known|as|s", w) for w in lower
    )


def topic(title: str, text: str) -> Topic:
    """Return the passage's topic, from its title and first sentence."""
    bare = re.sub(r"\s*\([^)]*\)\s*", " ", title).strip()
    if title.startswith("List of"):
        return Topic(tidy(bare), "list", frozenset(), None)
    bracket = " ".join(re.findall(r"\(([^)]*)\)", title)).lower().split()
    first = sentences(text)[0] if text.strip() else ""
    opening = None
    match = _OPENING.match(first)
    if match and _plausible_subject(match["subject"], bare):
        opening = Statement(first, "", match["aside"] or "", match["rest"])
    heads = _heads(opening.predicate) if opening else []
    kinds = [KINDS[head] for head in heads if head in KINDS]
    kind = kinds[0] if kinds and len({*kinds}) == 1 else next((KINDS[w] for w in bracket if w in KINDS), "thing")
    if (
        kind == "thing"
        and opening
        and not _EVENT.search(title)
        and (_LIVED.search(opening.aside) or re.search(r"[.!?]\s+(?:He|She)\b", text))
    ):
        kind = "person"
    called = "" if re.match(r"(?i)the (film|song|album|series)", bare) else _CALLED.get(kind, "")
    return Topic(called + tidy(bare), kind, frozenset(heads) | frozenset(bracket), opening)


def statements(title: str, text: str, about: Topic) -> Iterator[Statement]:
    """Yield the statements whose subject is the topic, given by its name or by a pronoun without another subject in
    between.
    """
    names = _names(title, about)
    meant = _pronouns(about, text)
    spoken = False
    for number, sentence in enumerate(sentences(text)):
        if number == 0 and about.opening:
            spoken = True
            yield about.opening
            continue
        lead = _LEAD.match(sentence)
        rest = sentence[lead.end() :] if lead else sentence
        end = max((at for words in names if (at := _end_of(words, rest))), default=None)
        own = False
        if end is None and spoken:
            word = rest.split(" ", 1)[0].lower()
            own = _OWN.get(word) in meant
            end = len(word) if own or word in meant else None
        after = _AFTER.match(rest, end) if end else None
        if after is None:
            spoken = False
            continue
        has = own or bool(after["has"])
        spoken = own or not has
        yield Statement(
            sentence, lead["lead"] if lead else "", after["aside"] or "", ("'s " if has else "") + after["rest"]
        )


def _names(title: str, about: Topic) -> list[list[str]]:
    """Return the word sequences that name the topic at the start of a sentence."""
    words = re.findall(r"\w+", re.sub(r"\([^)]*\)", " ", title))
    nouns = [["The", noun] for noun in sorted(about.nouns) if KINDS.get(noun, "person") == about.kind != "person"]
    surname = [words[-1:]] if about.kind == "person" and len(words) > 1 and len(words[-1]) > 3 else []
    return [words, *surname, *nouns]


def _end_of(words: list[str], sentence: str) -> int | None:
    """Return the position after the given words at the start of the sentence, ignoring punctuation between them; None
    if the sentence starts with other words.
    """
    at = 0
    for word in words:
        at = _BETWEEN.match(sentence, at).end()  # type: ignore[union-attr]  # matches the empty string
        if not sentence.startswith(word, at):
            return None
        at += len(word)
    if not words or sentence[at : at + 1].isalnum():
        return None
    return at


_OWN = {"its": "it", "their": "they", "his": "he", "her": "she"}
_BETWEEN = re.compile(r"[\s\-–'’\"“”.,&!?:]*")
_AFTER = re.compile(rf"[\"”]?(?P<has>\s?[’']s?)?{_ASIDE},?\s(?P<rest>.+)$", re.DOTALL)


def _pronouns(about: Topic, text: str) -> frozenset[str]:
    if about.kind == "organisation":
        return frozenset({"it", "they"})
    if about.kind != "person":
        return frozenset({"it"})
    opening = about.opening.predicate if about.opening else ""
    first = re.search(r"(?<=[.!?]\s)(He|She|His|Her)\b", text)
    woman = re.search(
        r"\b(?:actress|daughter|wife|queen|princess|countess|duchess|empress|woman|sister|mother|she|her)\b", opening
    )
    man = re.search(r"\b(?:he|his|king|actor|son)\b", opening)
    if woman or (first and first[1] in ("She", "Her") and not man):
        return frozenset({"she"})
    return frozenset({"he"})
