"""Rules that turn a sentence pattern into a question, and checks that a question and its answer fit."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.answerer.encyclopedia_forms import expanded
from scripts.answerer.encyclopedia_text import Statement, Topic, tidy
from scripts.answerer.lessons import Pair

LONGEST_ANSWER = 16  # words
_NEVER_LAST = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "and",
        "or",
        "by",
        "in",
        "to",
        "for",
        "with",
        "at",
        "on",
        "as",
        "his",
        "her",
        "its",
        "their",
        "from",
        "which",
        "that",
        "who",
        "where",
        "when",
        "is",
        "was",
        "are",
        "were",
        "but",
        "than",
        "into",
    ]
)
PRONOUN = re.compile(
    r"(?i)\b(?:he|she|it|they|him|them|his|her|hers|its|their|this|these|those|former|latter|there|here)\b"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer; `about` names the fact that is asked for, whatever the wording. Pairs with equal
    `about` must have the same answer.
    """

    about: tuple[str, ...]
    pair: Pair


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern for a part of a `Statement`; the pattern's group `a` is the answer.

    The wordings of the question are templates: `{x}` is the topic, `{be}` is or was, `{does}` does or did, any other
    field a group. `kinds` are the kinds of topics to which it applies, all if empty; `part` names the field of
    `Statement` to match.
    """

    name: str
    pattern: re.Pattern[str]
    wordings: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    part: str = "predicate"

    def asked(self, about: Topic, statement: Statement) -> Iterator[Asked]:
        """Yield the questions that the statement answers according to this rule."""
        if self.kinds and about.kind not in self.kinds:
            return
        if statement.predicate.startswith("'s ") and "'s" not in self.pattern.pattern and self.part == "predicate":
            return
        for match in self.pattern.finditer(getattr(statement, self.part)):
            fields = {name: tidy(span) for name, span in match.groupdict().items() if span}
            if any(PRONOUN.search(span) for name, span in fields.items() if name != "a"):
                continue
            be = fields.get("be", _tense(about))
            if "s" in fields:
                if about.kind == "person" and fields["s"] in about.name:
                    continue
                fields["s"] = re.sub(r"^(?:The|An?)(?= )", lambda article: article[0].lower(), fields["s"])
            fields |= {"x": about.name, "be": be, "does": "did" if be in ("was", "were") else "does"}
            given = {key: span for key, span in fields.items() if key != "a"}
            question = worded(self.name, about.name, _dated(self.wordings, stripped(match["a"])), given)
            key = (self.name, *sorted(span for key, span in given.items() if key not in ("x", "be", "does")))
            yield Asked(key, Pair(question, stripped(match["a"])))


_WORKS = ("film", "song", "album", "book", "series")
_KINDS = {"works": _WORKS, "things": (*_WORKS, "place", "organisation", "thing")}


def table(text: str) -> tuple[Rule, ...]:
    """Return the rules listed in a text. Each rule is a line "NAME : KINDS @PART", the pattern's lines, and question
    wordings after dashes.

    A pattern's lines are joined without a space; its named parts are those of `encyclopedia_forms`.
    """
    rules: list[Rule] = []
    for block in re.findall(r"^\S.*\n(?: {4}.*\n)+", text, re.MULTILINE):
        head, *lines = block.splitlines()
        name, _, meant = head.partition(" :")
        part = next((word[1:] for word in meant.split() if word.startswith("@")), "predicate")
        kinds = [kind for word in meant.split() if word[0] != "@" for kind in _KINDS.get(word, (word,))]
        pattern = "".join(line[4:] for line in lines if not line.startswith("    - "))
        wordings = " / ".join(line[6:] for line in lines if line.startswith("    - ")).split(" / ")
        rules.append(Rule(name, re.compile(expanded(pattern)), tuple(wordings), tuple(kinds), part))
    return tuple(rules)


def _dated(wordings: tuple[str, ...], answer: str) -> tuple[str, ...]:
    """Return the wordings that fit the answer: without those that ask for a year if it is a full date, or for a date if
    it is a year.
    """
    unfit = " date " if re.fullmatch(r"(?:c\.\s?)?\d{3,4}", answer) else " year "
    return tuple(wording for wording in wordings if unfit not in wording) or wordings


def _tense(about: Topic) -> str:
    return about.opening.predicate.split(" ", 1)[0] if about.opening else "is"


def drawn(*words: str) -> int:
    """Return a pseudo-random number determined by the given words."""
    return int.from_bytes(hashlib.sha256("|".join(words).encode()).digest()[:6])


def worded(name: str, title: str, wordings: Sequence[str], fields: dict[str, str]) -> str:
    """Return one of the wordings, filled in. Every third is in the style of a search box: lower case, without a
    question mark.
    """
    draw = drawn(name, title, *sorted(fields.values()))
    question = (
        re.sub(r"\s+", " ", wordings[draw // 3 % len(wordings)].format_map(fields))
        .replace("s's ", "s' ")
        .replace(" ?", "?")
    )
    return searched(question) if draw % 3 == 0 else question[0].upper() + question[1:]


def searched(question: str) -> str:
    """Return the question as a user would type it into a search box."""
    return question.lower().replace(",", "").rstrip("?").strip()


def stripped(span: str) -> str:
    """Return the span without surrounding spaces, punctuation and quotation marks."""
    span = span.strip(" ,;:–-\n")
    if span.endswith(".") and not re.search(r"\b(?:\w|Jr|Sr|Inc|Ltd|Co|St|[A-Z]\.[A-Z])\.$", span):
        span = span[:-1].rstrip()
    if len(span) > 2 and span[0] in '"“' and span[-1] in '"”' and not re.search(r"[\"“”]", span[1:-1]):
        span = span[1:-1].strip()
    return span


def fits(pair: Pair, text: str) -> bool:
    """Return whether the answer is a short, complete span of the text that the question does not reveal."""
    answer = pair.answer
    words = answer.split()
    plain = re.sub(r"\W+", " ", answer.lower()).strip()
    asked = re.sub(r"\W+", " ", pair.question.lower())
    return (
        bool(plain)
        and answer in text
        and (len(words) > 2 or not PRONOUN.search(answer))
        and len(words) <= LONGEST_ANSWER
        and not re.search(r"<|>|\[|\]|/ˈ|\bborn\b", answer)
        and not re.search(r"\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Sr|Jr|vs|No|Vol|Lt|Col|Gen|Capt|Rev|Prof|Mt|feat|ft)$", answer)
        and answer.count("(") == answer.count(")")
        and len(re.findall(r"[\"“”]", answer)) % 2 == 0
        and words[-1].lower() not in _NEVER_LAST
        and f" {plain} " not in f" {asked} "
        and 4 <= len(pair.question.split()) <= 26
        and pair.question.count("(") == pair.question.count(")")
        and not re.search(r"\b((?:\w+ ){1,4}\w+),? \1\b", pair.question)
        and not re.search(r"\"|“|”|\s[,.]|<|\[", pair.question)
    )
