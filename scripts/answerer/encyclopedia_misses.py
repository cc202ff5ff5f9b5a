"""Generates plausible questions about an encyclopedia passage that the passage does not answer."""

import re
from collections.abc import Iterator, Sequence

from scripts.answerer.encyclopedia_careers import CAREERS
from scripts.answerer.encyclopedia_forms import UPPER
from scripts.answerer.encyclopedia_lives import LIVES
from scripts.answerer.encyclopedia_places import PLACES
from scripts.answerer.encyclopedia_rules import drawn, worded
from scripts.answerer.encyclopedia_text import Topic, topic
from scripts.answerer.encyclopedia_untold import UNTOLD
from scripts.answerer.encyclopedia_works import WORKS
from scripts.answerer.lessons import Pair

_MOST_UNTOLD = 2
_TELLING = {"film", "song", "album", "series", "born", "die", "nationality", "birth", "death", "released", "living"}
_PERSON = re.compile(f"[{UPPER}]\\w+ (?:[{UPPER}]\\w+ )?[{UPPER}]\\w{{2,}}")
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_WORDED = (rule.wordings for rules in (LIVES, CAREERS, WORKS, PLACES, UNTOLD) for rule in rules)
_PLAIN = {word for wordings in _WORDED for word in re.findall(r"\w+", " ".join(wordings).lower())}


def left_open(title: str, text: str, answered: Sequence[Pair], others: Sequence[Pair]) -> list[str]:
    """Return questions about missing facts, and questions with a wrong year, name or subject. The kind that comes first
    varies from passage to passage.

    `answered` are the pairs generated from this passage, `others` those from passages with other titles.
    """
    about = topic(title, text)
    alike = [
        *_other_years(answered, text),
        *_other_names(about, answered, others, text),
        *_other_subjects(answered, others, text),
    ]
    alike.sort(key=lambda question: drawn(about.name, question))
    untold = _untold(about, text)
    asked = [*untold, *alike] if drawn(about.name, "order") % 2 else [*alike, *untold]
    own = {pair.question for pair in answered}
    return [question for question in dict.fromkeys(asked) if question not in own]


def _untold(about: Topic, text: str) -> list[str]:
    """Return questions about facts that are common for this kind of topic, if the passage has no word related to the
    fact.
    """
    lower = text.lower()
    past = bool(about.opening and re.match(r"was|were", about.opening.predicate))
    fields = {"x": about.name, "be": "was" if past else "is", "does": "did" if past else "does"}
    open_ = [rule for rule in UNTOLD if about.kind in rule.kinds and not rule.pattern.search(lower)]
    open_.sort(key=lambda rule: drawn(about.name, rule.wordings[0]))
    return [worded(rule.wordings[0], about.name, rule.wordings, fields) for rule in open_[:_MOST_UNTOLD]]


def _other_years(answered: Sequence[Pair], text: str) -> Iterator[str]:
    """Yield a question that the passage answers, with its year replaced by one that the passage does not contain."""
    for pair in answered:
        year = _YEAR.search(pair.question)
        if year is None:
            continue
        near = [int(year[0]) + step for step in (-7, -4, -3, 3, 4, 6)]
        other = str(near[drawn(pair.question) % len(near)])
        if other not in text and other[2:] not in re.findall(r"\d+", text):
            yield pair.question.replace(year[0], other)
            return


def _other_names(about: Topic, answered: Sequence[Pair], others: Sequence[Pair], text: str) -> Iterator[str]:
    """Yield a question that the passage answers about a person, with the surname replaced by one that is not in the
    passage.
    """
    if about.kind != "person" or not _PERSON.fullmatch(about.name):
        return
    held = set(re.findall(r"\w+", text.lower()))
    people = [pair.answer for pair in others if pair.question.lower().startswith("who ")]
    names = {person.split()[-1] for person in people if _PERSON.fullmatch(person)}
    strange = sorted(name for name in names if name.lower() not in held and name not in about.name)
    asked = [pair.question for pair in answered if about.name in pair.question]
    if strange and asked:
        question = asked[drawn(about.name, "question") % len(asked)]
        surname = strange[drawn(about.name, "surname") % len(strange)]
        yield question.replace(about.name, f"{about.name.rsplit(' ', 1)[0]} {surname}")


def _other_subjects(answered: Sequence[Pair], others: Sequence[Pair], text: str) -> Iterator[str]:
    """Yield a question like one that the passage answers, about a subject that the passage does not mention."""
    forms = {_form(pair.question) for pair in answered}
    held = set(re.findall(r"\w+", text.lower()))
    fitting = [pair.question for pair in others if _form(pair.question) in forms]
    for question in sorted(fitting, key=lambda question: drawn(text[:40], question)):
        named = set(re.findall(r"\w{3,}", question.lower())) - _PLAIN
        if named and not named & held:
            yield question
            return


def _form(question: str) -> tuple[str, ...]:
    words = question.lower().rstrip("?").split()
    return (*words[:2], *(word for word in words[2:] if word in _TELLING))
