"""Whether a question asks what was said of something, rather than for a fact: by its words, in English.

"Summarize the discussion about the rent", "What did we talk about on Monday?", "What was said of the roof?"
"""

import re
from dataclasses import dataclass
from typing import Final

_PAST: Final = {
    "argue": "argued",
    "comment": "commented",
    "debate": "debated",
    "discuss": "discussed",
    "talk": "talked",
}
_SUMMARY = re.compile(
    r"(?:please |can you |could you |would you )*"
    r"(?:summari[sz]e|sum up|recap"
    r"|(?:give me |show me )?(?:a |an |the )?(?:short |brief )?(?:summary|overview|recap) of) (?P<asked>.+)",
    re.IGNORECASE,
)
_NOUN = re.compile(
    r"what(?:['’]s| is| are| was| were) (?P<asked>(?:[\w'’-]+ ){1,4}?"
    r"(?:argument|controversy|conversation|debate|discussion|disagreement|dispute|questioning)s? .+)",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"(?P<asked>what (?:was|is|were|has been) (?:said|discussed|debated|talked)\b.+)", re.IGNORECASE)
# "What did they discussed" is a slip that does not change what is asked.
_ACTIVE = re.compile(
    rf"(?P<word>what|how) (?P<aux>did|does|do) (?P<who>.{{1,80}}?) (?P<verb>{'|'.join(_PAST)})(?:e?d)?\b(?P<rest>.*)",
    re.IGNORECASE,
)
_OF = re.compile(r"\b(?:about|of|on|over|regarding) (?P<subject>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Discourse:
    """What is asked for, as a heading over it ("What we discussed about the rent"), and what that is about: the words
    by which it is found, as nobody says "discussion" in one.
    """

    heading: str
    subject: str


def read(question: str) -> Discourse | None:
    """What was said of what; None where the question asks for something else."""
    asked = question.strip().rstrip(" ?.!")
    if found := _SUMMARY.fullmatch(asked) or _NOUN.fullmatch(asked) or _PASSIVE.fullmatch(asked):
        heading = found["asked"]
    elif found := _ACTIVE.fullmatch(asked):
        verb = found["verb"].lower()
        said = {"did": _PAST[verb], "does": f"{verb}s", "do": verb}[found["aux"].lower()]
        heading = f"{found['word']} {found['who']} {said}{found['rest']}"
    else:
        return None
    of = _OF.search(heading)
    return Discourse(f"{heading[:1].upper()}{heading[1:]}", of["subject"] if of else heading)
