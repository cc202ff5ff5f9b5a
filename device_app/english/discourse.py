"""Recognises questions for a summary, or for statements about a subject, rather than for a fact.

Examples: "Summarize the discussion about the rent", "What did we talk about on Monday?", "What was said of the roof?"
"""

import re
from dataclasses import dataclass

_TALKS = r"(?:argument|controversy|conversation|debate|discussion|disagreement|dispute|questioning|talk)s?"
_SAID = r"(?:argued|commented|debated|discussed|said|talked)"
_OF = r"(?:about|of|on|over|regarding)"
_WHOSE = r"(?:the|our|your|my|his|her|their|[\w'’.-]+['’]s?) (?:(?!of\b)[\w'’-]+ ){0,2}?"
_SEVERAL = r"(?:we|they|you|i|people|every(?:one|body)|the (?:board|committee|family|group|meeting|neighbou?rs|team))"

_POLITELY = re.compile(
    r"(?:please,? |can you |could you |would you |(?:tell|remind) me |do you (?:remember|know) )+", re.IGNORECASE
)
_SUMMARY = re.compile(
    r"(?:summari[sz]e|recap|(?:give me |show me )?(?:(?:a|an|the) )?(?:(?:short|brief|quick) )?"
    r"(?:summary|overview|recap) of) (?!in\b)(?P<asked>.+)",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(r"what(?:['’]s| is| are| was| were) (?P<asked>.+)", re.IGNORECASE)
_TALK = re.compile(rf"{_WHOSE}{_TALKS} (?:{_OF}|between|with) (?P<subject>.+)", re.IGNORECASE)
_WAS_SAID = re.compile(
    rf"what(?:['’]s| was| is| were| has been| have been)(?: being)? {_SAID} (?!to be\b|by\b)(?:{_OF} )?(?P<subject>.+)",
    re.IGNORECASE,
)
# What one person said counts as a fact. The slip "What did they discussed" is accepted too.
_THEY_SAID = re.compile(
    rf"what (?:(?:did|does|do|have|has) )?(?P<who>{_SEVERAL}|.{{1,80}}? and .{{1,80}}?) "
    rf"(?:(?:debate|discuss)(?:e?d)?(?P<of> {_OF})?|(?:argue|comment|talk)(?:e?d)? (?:about|on|over)) (?P<subject>.+)",
    re.IGNORECASE,
)

# What somebody else "said" counts as a fact; what they texted is a chat, and what "I" said is the person's own words.
_SAID_BY = re.compile(
    r"what (?:did|have|had) (?:(?P<me>i)(?: ever)? (?:say|said|write|written|tell|told|text(?:ed)?|message[d]?|"
    r"mention(?:ed)?|promised?|repl(?:y|ied)|answer(?:ed)?)(?P<to>(?: to)? (?!about\b)\S+(?: (?!about\b)\S+)?)?"
    r"|(?P<name>(?!(?:we|they|you|he|she|it|people)\b)\S+(?: \S+)?) (?:text(?:ed)?|message[d]?|sms)(?: (?:me|us))?)"
    r" (?:about|regarding) (?P<subject>.+)",
    re.IGNORECASE,
)

_FORM = re.compile(r" in (?:\w+ ){1,3}?(?:words|sentences?|lines?|bullets?(?: points)?|paragraphs?)$", re.IGNORECASE)
_LAST = re.compile(rf" {_OF}$", re.IGNORECASE)
_POINTS = re.compile(rf"{_OF}$|(?:it|this|that|these|those|them|how|why|when|where|who|what|page)\b", re.IGNORECASE)
_AND_ASKS = re.compile(r"\band (?:how|why|when|where|who|what)\b", re.IGNORECASE)


def without_courtesy(question: str) -> str:
    """Return the question without polite words before it and the marks at its end."""
    asked = question.strip().rstrip(" ?.!")
    politely = _POLITELY.match(asked)
    return asked[politely.end() :] if politely else asked


def subject(question: str) -> str:
    """Return the subject, for retrieval, of a question for statements; few discussions contain the word "discussion".

    Return "" for a question about a fact, or with a second question in it.
    """
    asked = without_courtesy(question)
    about = _LAST.sub("", _FORM.sub("", _about(asked)))
    return "" if _POINTS.match(about) or _AND_ASKS.search(about) else about


@dataclass(frozen=True, slots=True)
class SaidBy:
    """A question for one person's statements: the speaker ("I" is the user), the addressee (or ""), the subject."""

    speaker: str
    to: str
    subject: str

    @property
    def query(self) -> str:
        """The words to search for: speaker, addressee and subject."""
        speaker = "" if self.speaker == "I" else self.speaker
        return " ".join(filter(None, (speaker, self.to, self.subject)))

    @property
    def heading(self) -> str:
        """The heading above the quotes that answer the question."""
        return f"{'You' if self.speaker == 'I' else self.speaker} about {self.subject}:"


def said_by(question: str) -> SaidBy | None:
    """Parse a question for the statements of one person; return None for any other question."""
    asked = without_courtesy(question)
    match = _SAID_BY.fullmatch(asked)
    if match is None or _POINTS.match(match["subject"]) or _AND_ASKS.search(match["subject"]):
        return None
    to = (match["to"] or "").strip().removeprefix("to ")
    return SaidBy(match["name"] or "I", to, match["subject"])


def _about(asked: str) -> str:
    if summary := _SUMMARY.fullmatch(asked):
        verb = summary["asked"]
        of = _TALK.fullmatch(verb) or _WAS_SAID.fullmatch(verb) or _THEY_SAID.fullmatch(verb)
        return of["subject"] if of else verb
    if said := _WAS_SAID.fullmatch(asked):
        return said["subject"]
    if (what_is := _WHAT_IS.fullmatch(asked)) and (talk := _TALK.fullmatch(what_is["asked"])):
        return talk["subject"]
    they = _THEY_SAID.fullmatch(asked)
    if they is None:
        return ""
    return f"{they['who']}, {they['subject']}" if " and " in they["who"] else they["subject"]
