"""What was said about something in a meeting, told with its speaker's own words.

Of the real questions about meetings there are too few to learn from; and whoever learns that a passage does not tell
what it does not say word for word would say so of every debate. A quotation is never made up.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

from device_app.cache.questions import spoken, things
from scripts.answerer.lessons import Lesson, Pair, passage
from scripts.datasets.folders import Folder, is_held_out
from shared.text import passages, sentences
from shared.types import StoredPassage

SOURCE = "quotes"

_MOST = 4
"""Questions to a passage."""

_LEAST_WORDS, _MOST_WORDS = 6, 35
"""Of a sentence that is quoted."""

_NOISE = re.compile(r"\{\w+\}|\b(?:um|uh|mm|hmm)\b ?,?", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:(?:Mr|Madam)\.? ?(?:Chair|Speaker), )?(?:and|but|so|well|yeah|okay|ok)\b ?,? ", re.IGNORECASE
)

_FORMS = {
    "What did {speaker} think about {thing}?": "About {thing}",
    "What did {speaker} say about {thing}?": "About {thing}",
    "What did {speaker} mention about {thing} when discussing the matter?": "About {thing}",
    "Why did {speaker} bring up {thing}?": "When bringing up {thing}",
    "How did {speaker} explain {thing}?": "To explain {thing}",
    "Summarize what {speaker} said about {thing}.": "About {thing}",
    "What was the debate about {thing}?": "In the debate about {thing}",
    "What was the debate over {thing}?": "In the debate over {thing}",
    "What was the discussion about {thing}?": "In the discussion about {thing}",
    "What was the controversy about {thing}?": "In the controversy about {thing}",
    "What was the questioning about {thing}?": "In the questioning about {thing}",
    "What was said about {thing}?": "About {thing}",
    "What was mentioned concerning {thing}?": "Concerning {thing}",
    "What did the group discuss about {thing}?": "In the discussion about {thing}",
    "What did the group think about {thing}?": "About {thing}",
    "What was the plan for {thing}?": "On the plan for {thing}",
    "What was decided on {thing}?": "On {thing}",
    "Summarize the discussion about {thing}.": "In the discussion about {thing}",
    "Summarize the debate on {thing}": "In the debate on {thing}",
    "Summarize what was said about {thing}": "About {thing}",
}
"""Questions, and how the answer begins."""


def quotes(meetings: Folder) -> Iterator[Lesson]:
    """Of each passage of the meetings that may be taught in which something is said: what was said of what."""
    for file, documents in meetings.files.items():
        for document in documents if not is_held_out(Path(file).stem) else ():
            for part in passages(document.blocks):
                read = passage(part.text, document.title, None, document.kind, document.people, part.ordinal)
                if pairs := _pairs(random.Random(part.text), read):
                    yield Lesson(SOURCE, (read,), pairs)


def _pairs(chance: random.Random, read: StoredPassage) -> tuple[Pair, ...]:
    about = [
        (speaker, said, thing)
        for speaker, words in spoken(read)
        for said in map(_clean, sentences(words))
        for thing in things(said)
        if thing.startswith("the ") and _LEAST_WORDS <= len(said.split()) <= _MOST_WORDS
    ]
    chosen = zip(chance.sample(about, min(_MOST, len(about))), chance.sample(list(_FORMS), _MOST), strict=False)
    return tuple(
        Pair(
            form.format(speaker=speaker, thing=thing),
            f"{_FORMS[form].format(thing=thing)}, {f'{speaker} said' if speaker else 'it was said'}: {said}",
        )
        for (speaker, said, thing), form in chosen
        if speaker or "{speaker}" not in form
    )


def _clean(sentence: str) -> str:
    """What was said, without what only filled a pause or opened a turn; white space as one writes it."""
    plain = re.sub(r" (?=[.,?!;:'’])|(?<= [a-z]) (?=[-’'])", "", " ".join(_NOISE.sub("", sentence).split()))
    plain = _OPENING.sub("", plain)
    return plain[:1].upper() + plain[1:]
