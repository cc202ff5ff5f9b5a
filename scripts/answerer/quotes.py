"""Generates questions about what a person said in a meeting, answered by quotations.

The real questions about meetings are too few to learn from, and a model that abstains if the wording differs would
abstain on every debate. Quotations are never invented.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

from device_app.english.questions import subjects
from device_app.english.speech import spoken
from scripts.answerer.lessons import Lesson, Pair, passage
from scripts.datasets.folders import Folder, is_held_out
from shared.text import passages, sentences
from shared.types import StoredPassage

SOURCE = "quotes"

MOST = 4
"""The most questions per passage."""

_LEAST_WORDS, _MOST_WORDS = 6, 35
"""The fewest and the most words of a quoted sentence."""

_NOISE = re.compile(r"\{\w+\}|\[[^\]]*\]|\b(?:mm|uh) ?- ?(?:hmm|mm|huh)\b ?,?|\b(?:um|uh|mm|hmm)\b ?,?", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:(?:and|but|so(?! far| that| many| much)|well(?! done)|yeah|okay|ok)\b ?,? )+",
    re.IGNORECASE,
)
_APART = re.compile(r" (?=[.,?!;:])| (?=['’](?:s|t|re|ve|ll|d|m)\b)")
"""The spaces that transcripts have before punctuation and contractions, unlike normal text."""

_FORMS = {
    "What did {speaker} say about {topic}?": "About {topic}",
    "What did {speaker} mention about {topic}?": "About {topic}",
    "Summarize what {speaker} said about {topic}.": "About {topic}",
    "What was the debate about {topic}?": "In the debate about {topic}",
    "What was the debate over {topic}?": "In the debate over {topic}",
    "What was the discussion about {topic}?": "In the discussion about {topic}",
    "What was said about {topic}?": "About {topic}",
    "What was mentioned concerning {topic}?": "Concerning {topic}",
    "What did the group discuss about {topic}?": "In the discussion about {topic}",
    "What did the group talk about concerning {topic}?": "Concerning {topic}",
    "Summarize the discussion about {topic}.": "In the discussion about {topic}",
    "Summarize the debate on {topic}.": "In the debate on {topic}",
    "Summarize what was said about {topic}.": "About {topic}",
}
"""The wordings of the questions, and the beginnings of their answers. They ask only for what was said, because a
quotation shows nothing else.
"""


def quotes(meetings: Folder) -> Iterator[Lesson]:
    """Yield a lesson for each passage of the meetings that contains a quotable statement, except held-out meetings."""
    for file, documents in meetings.files.items():
        for document in documents if not is_held_out(Path(file).stem) else ():
            for part in passages(document.blocks):
                read = passage(part.text, document.title, None, document.kind, document.people, part.ordinal)
                if pairs := tuple(_pairs(random.Random(part.text), read)):
                    yield Lesson(SOURCE, (read,), pairs)


def _pairs(chance: random.Random, read: StoredPassage) -> Iterator[Pair]:
    remarks = list(_remarks(read))
    forms = chance.sample(list(_FORMS), MOST)
    for (speaker, said, topic), form in zip(chance.sample(remarks, min(MOST, len(remarks))), forms, strict=False):
        if speaker or "{speaker}" not in form:
            opening = _FORMS[form].format(topic=topic)
            source = f"{speaker} said" if speaker else "it was said"
            yield Pair(form.format(speaker=speaker, topic=topic), f"{opening}, {source}: {said}")


def _remarks(read: StoredPassage) -> Iterator[tuple[str, str, str]]:
    """Yield (speaker, sentence, topic) for each topic that a complete sentence names; the speaker is "" if unknown."""
    for speaker, words in spoken(read):
        for said in map(_clean, sentences(words)):
            if said.endswith((".", "!")) and _LEAST_WORDS <= len(said.split()) <= _MOST_WORDS:
                # Only topics that occur with "the": `subjects` also puts "the" in front of words that have another
                # determiner.
                named = [topic for topic in subjects(said) if re.search(rf"\bthe {re.escape(topic[4:])}\b", said, re.I)]
                yield from ((speaker, said, topic) for topic in named if topic.startswith("the "))


def _clean(sentence: str) -> str:
    """Return the sentence without fillers and opening words, with normal white space."""
    plain = _OPENING.sub("", _APART.sub("", " ".join(_NOISE.sub("", sentence).split())))
    return plain[:1].upper() + plain[1:]
