"""Whether a question asks what was said of something, rather than for a fact: by its words, in English.

"Summarize the discussion about the rent", "What did we talk about on Monday?", "What was said of the roof?"
"""

import re
from dataclasses import dataclass
from typing import Final

_FORMS: Final = {
    "argue": ("argued", "argues"),
    "comment": ("commented", "comments"),
    "debate": ("debated", "debates"),
    "discuss": ("discussed", "discusses"),
    "talk": ("talked", "talks"),
}
_ALONE: Final = ("debate", "discuss")
"""What one may do to something without "about"."""

_TALKS = r"(?:argument|controversy|conversation|debate|discussion|disagreement|dispute|questioning)s?"
_OF = r"(?:about|of|on|over|regarding)"
_WHOSE = r"(?:the|our|your|my|his|her|their|[\w'’.-]+['’]s?) (?:(?!of\b)[\w'’-]+ ){0,2}?"
_SEVERAL = r"(?:we|they|you|i|people|every(?:one|body)|the (?:board|committee|family|group|meeting|neighbou?rs|team))"

_SUMMARY = re.compile(
    r"(?:please,? |can you |could you |would you )*"
    r"(?:summari[sz]e|recap|(?:give me |show me )?(?:(?:a|an|the) )?(?:(?:short|brief|quick) )?"
    r"(?:summary|overview|recap) of) (?!(?:it|this|that|these|those|them|in)\b)(?P<asked>.+)",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(r"what(?:['’]s| is| are| was| were) (?P<asked>.+)", re.IGNORECASE)
_TALK = re.compile(rf"{_WHOSE}{_TALKS} (?:{_OF}|between|with) (?P<subject>.+)", re.IGNORECASE)
_SAID = re.compile(
    rf"what (?:was|is|were|has been) (?:said|discussed|debated|talked) (?!to be\b)(?:{_OF} )?(?P<subject>.+)",
    re.IGNORECASE,
)
# What one of them said is asked for as a fact. "What did they discussed" is a slip that does not change what is asked.
_DID = re.compile(
    rf"what (?P<aux>did|does|do) (?P<who>{_SEVERAL}|.{{1,80}}? and .{{1,80}}?) "
    rf"(?P<verb>{'|'.join(_FORMS)})(?:e?d)?(?P<of> {_OF})? (?P<rest>.+)",
    re.IGNORECASE,
)


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
    if summary := _SUMMARY.fullmatch(asked):
        wanted = summary["asked"]
        of = _TALK.fullmatch(wanted) or _SAID.fullmatch(wanted)
        return _under(wanted, of["subject"] if of else wanted)
    if said := _SAID.fullmatch(asked):
        return _under(asked, said["subject"])
    if (what_is := _WHAT_IS.fullmatch(asked)) and (talk := _TALK.fullmatch(what_is["asked"])):
        return _under(what_is["asked"], talk["subject"])
    did = _DID.fullmatch(asked)
    return _told(did) if did and (did["of"] or did["verb"].lower() in _ALONE) else None


def _told(did: re.Match[str]) -> Discourse:
    """The question as it is told of, "did" and its verb become one; several who are named are looked for too."""
    past, present = _FORMS[did["verb"].lower()]
    verb = {"did": past, "does": present, "do": did["verb"]}[did["aux"].lower()]
    who, what = did["who"], f"{did['of'] or ''} {did['rest']}"
    return _under(f"what {who} {verb}{what}", f"{who}{what}" if " and " in who else did["rest"])


def _under(heading: str, subject: str) -> Discourse:
    return Discourse(f"{heading[:1].upper()}{heading[1:]}", subject)
