"""Recognises the outcomes of a meeting: decisions, actions and open questions, and questions that ask for them.

A sentence counts only if its words say so plainly; most sentences of a meeting are none of the three.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.discourse import without_courtesy
from device_app.english.words import content_words

Outcome = Literal["decision", "action", "question"]

OUTCOMES: Final[tuple[Outcome, ...]] = ("decision", "action", "question")

_LEAST_WORDS, _MOST_WORDS = 7, 45
"""The fewest and the most words of a sentence that is quoted: shorter ones cannot be understood by themselves."""

_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*")
_SOUNDS: Final = re.compile(r"\{\w+\}|\[\w+\]")
_APART: Final = re.compile(r"\s+(?=['’][a-z]|n['’]t\b|[.,?!])")
"""Matches the space before a part of a word or a mark, as transcripts write it: "we 'll", "do n't", "yes ."."""

_HESITATION: Final = re.compile(r"\b(?:uh|um|erm?|mm|hmm|mm-hmm|you know|like|i mean|(?:sort|kind) of)\b")
_LEAST_WEIGHT, _COST_OF_HESITATION = 1.5, 0.3
"""How plainly a sentence must state an outcome to be quoted (`_SIGNS` has the weights), and what each "um" or similar
hesitation subtracts.
"""

_ADVERBS = r"(?:then |also |just |probably |definitely |maybe |still |all |please |now )*"
_WILL = r"(?:'ll|’ll| will|'m going to|’m going to| am going to|'re going to|’re going to| are going to|'re gonna)"
_DO = (
    r"(?:ask (?!again|you|(?:\w+ ){0,2}questions?)|call (?!it|that|this|an?\b)|send|write (?:to|up)|e-?mail|mail|phone"
    r"|check|prepare|look (?:into|up)|find out|bring|fix|finali[sz]e|set up|book|order|draft|review|test|update|contact"
    r"|schedule|arrange|organi[sz]e|collect|print|work on|come up with|follow up|circulate|share|submit|talk to"
    r"|speak to|buy|pay|produce|create|build|implement|design|change|remove|install|record|document|investigate"
    r"|report back|put together|make sure|get (?:back|in touch)|try (?:to|out)|consult|invite|publish|respond|reply)"
)
_SETTLE = (
    r"(?:go (?:with|for|ahead)|use|keep (?!doing|up)|stick (?:to|with)|drop|skip|leave out|include|start with|aim for"
    r"|focus on|accept|limit|choose|postpone)"
)
_GROUP = r"(?:we|they|every(?:body|one)|the (?:committee|group|team|board|council|family))"
_ASKING = r"(?:how|what|which|whether|if|who|when|where)"

_SIGNS: Final[dict[Outcome, Sequence[tuple[float, str]]]] = {
    "decision": (
        (3, rf"\b{_GROUP}(?:['’]ve| have| had)? {_ADVERBS}(?:decided|agreed|settled|concluded|resolved|voted)\b"),
        (
            3,
            r"\b(?:it['’]s|it is|it was|that['’]s|that was|been) (?:now )?(?:decided|agreed|settled)\b(?! (?:with|by))",
        ),
        (3, r"\b(?:our|the final|a) decision (?:is|was|to|that)\b|\bwe made (?:the|a) decision\b"),
        (2, rf"\blet['’]s {_ADVERBS}{_SETTLE}\b|\bwe{_WILL} {_ADVERBS}(?:not )?{_SETTLE}\b"),
    ),
    "action": (
        (3, r"\baction (?:item|point)s?\b|\bto-?do list\b"),
        (3, rf"\b(?:could|can|would|will) you {_ADVERBS}{_DO}\b"),
        (3, rf"\b(?:i|you){_WILL} {_ADVERBS}(?:try (?:to|and) )?{_DO}\b|\bi(?:['’]ll| will) have to {_DO}\b"),
        (
            2,
            rf"\b(?:we{_WILL}|we (?:have|need) to|we should|i (?:have|need) to|you (?:have to|need to|should)"
            rf"|some(?:body|one) (?:has to|needs to|should|must)) {_ADVERBS}(?:try (?:to|and) )?{_DO}\b",
        ),
    ),
    "question": (
        (3, r"\bstill (?:open|unclear|undecided)\b|\bopen (?:question|issue|point)s?\b|\bremains? to be\b"),
        (3, r"\bto be (?:decided|determined)\b|\bnot (?:been )?(?:yet )?(?:decided|settled)\b"),
        (3, r"\bhave(?:n['’]t| not) (?:yet )?(?:decided|settled|worked out|figured out)\b"),
        (3, r"\bwe(?: still| really)? (?:have|need) to (?:decide|find out|figure out|work out|clarify)\b"),
        (2, rf"\bthe (?:\w+ )?question is,? (?:{_ASKING}|do|does|are|is|can|should)\b"),
        (2, rf"\bwe (?:don['’]t|do not) (?:yet |really )*know (?:yet |exactly )*{_ASKING}\b|\bnot sure yet\b"),
        (2, rf"\b{_ASKING}\b[^,?]{{0,30}} (?:should|are|can|could|will|would|shall) we\b(?! (?:say|call))[^?]*\?$"),
        (2, r"(?:^|, |so |and |but )(?:should|shall|can|could) we (?!have to)[^?]*\?$"),
    ),
}
"""Patterns by which a sentence states a decision, an action or an open question, with their weight: 3 if the sentence
says so, 2 if that is likely.
"""

_NONE: Final[dict[Outcome, str]] = {
    "decision": r"\?$|\b(?:if|whether|would have|when we|(?:that|which|what) we(?: are| will|['’]))\b",
    "action": r"\b(?:if (?:i|you|we)|can i)\b",
    "question": r"\b(?:do you mean|time (?:do|is|have))\b",
}
"""Patterns that show that a sentence is not the outcome that its other words suggest, such as a condition."""

_ABOUT_THE_MEETING: Final = re.compile(
    r"\b(?:hear me|(?:next )?slides?|my screen|microphones?|transcripts?|whiteboard|excuse me|sorry|lunch|coffee|thank"
    r"|mov(?:e|ing) on|agenda|write (?:it |this )?down|this meeting|next item)\b"
)


def words_of(sentence: str) -> str:
    """Return the sentence without the marks of sounds, such as "{laugh}", and spaced as in prose."""
    return " ".join(_APART.sub("", _SOUNDS.sub(" ", sentence)).split())


def outcome(sentence: str) -> tuple[Outcome, float] | None:
    """Return which outcome the sentence states, and how plainly (higher is plainer); None if it states none."""
    said = words_of(sentence).lower()
    if not _LEAST_WORDS <= len(_WORD.findall(said)) <= _MOST_WORDS or _ABOUT_THE_MEETING.search(said):
        return None
    plainness: dict[Outcome, float] = {
        kind: max((weight for weight, sign in signs if re.search(sign, said)), default=0.0)
        for kind, signs in _SIGNS.items()
        if not re.search(_NONE[kind], said)
    }
    kind = max(plainness, key=lambda each: plainness[each], default=None)
    if kind is None or not plainness[kind]:
        return None
    weight = plainness[kind] - _COST_OF_HESITATION * (len(_HESITATION.findall(said)) + len(_SOUNDS.findall(sentence)))
    return (kind, weight) if weight >= _LEAST_WEIGHT else None


_MEETING = r"(?:meetings?|calls?|stand-?ups?|workshops?|sessions?|sync|minutes)"
_THE = r"(?:(?:the|our|my|this|that|last|latest|whole|entire|today['’]s|yesterday['’]s|[\w-]+['’]s) )*"
_NAMED = rf"{_THE}(?:[\w-]+ ){{0,3}}?{_MEETING}\b.*"
_OF = r"(?:at|after|during|from|in|of)"
_DAY = r"(?:(?:on |last |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|this morning|last week)"
_WHERE = rf"(?: (?:{_OF} )(?P<meeting>{_NAMED})| (?P<day>{_DAY}))?"

_OF_ANY = r"(?:last|latest|whole|entire|team|weekly|daily|monthly|previous|recent|next|week|month)"
_WHAT_ARE = r"(?:what (?:are|were) )?"

_ASKED: Final[Sequence[tuple[tuple[Outcome, ...], str]]] = (
    (
        OUTCOMES,
        r"(?:summari[sz]e|recap|sum up|(?:give me |show me )?(?:(?:a|an|the) )?(?:(?:short|brief|quick) )?"
        rf"(?:summary|overview|recap|minutes) of) (?P<meeting>{_NAMED})(?P<day>)",
    ),
    (OUTCOMES, rf"what (?:came out|was the (?:outcome|result)) of (?P<meeting>{_NAMED})(?P<day>)"),
    (("decision",), rf"what (?:was|were|has been|got) (?:decided|agreed(?: upon| on)?){_WHERE}"),
    (("decision",), rf"what (?:did|have) we (?:decided?|agreed?(?: upon| on)?){_WHERE}"),
    (("decision",), rf"(?:what|which) (?:decisions|agreements) (?:were made|did we make|were taken){_WHERE}"),
    (("decision",), rf"{_WHAT_ARE}the decisions{_WHERE}"),
    (
        ("action",),
        rf"{_WHAT_ARE}(?:the |my |our )?(?:action (?:item|point)s|actions|to-?dos|next steps){_WHERE}",
    ),
    (("action",), rf"who has to do what{_WHERE}"),
    (("action",), rf"what (?:do|does) \w+ (?:have|need) to do {_OF} (?P<meeting>{_NAMED})(?P<day>)"),
    (
        ("question",),
        rf"(?:what|which) (?:(?:question|point|issue)s? )?(?:is|are) (?:still |left )*open{_WHERE}",
    ),
    (("question",), rf"{_WHAT_ARE}the open (?:question|point|issue)s{_WHERE}"),
)
_MAY_ASK: Final = re.compile(
    rf"\b{_MEETING}\b|\b(?:decide|decisions|agree|action|to-?do|next steps|open)", re.IGNORECASE
)
"""Matches any question for outcomes, and some others; it is a quick test, made before the exact patterns in
`_ASKED` are compiled and tried.
"""


@dataclass(frozen=True, slots=True)
class OutcomesAsked:
    """A question for the outcomes of a meeting. `meeting` is how the question names the meeting, or its day alone."""

    outcomes: tuple[Outcome, ...]
    meeting: str

    @property
    def is_last(self) -> bool:
        """Whether the question asks for the newest of several meetings."""
        return (
            re.search(r"\b(?:last|latest|previous|recent)\b(?! (?:week|month))", self.meeting, re.IGNORECASE)
            is not None
        )

    @property
    def named(self) -> list[str]:
        """The words that name the meeting, without those for any meeting, its day and its number."""
        rest = re.sub(rf"\b{_MEETING}\b|\b{_OF_ANY}\b|{_DAY}|\b\w*\d\w*\b", " ", self.meeting, flags=re.IGNORECASE)
        return content_words(rest)


def asked_for(question: str) -> OutcomesAsked | None:
    """Parse a question for the outcomes of a meeting; return None for any other question."""
    asked = without_courtesy(question)
    if not _MAY_ASK.search(asked):
        return None
    for outcomes, pattern in _ASKED:
        match = re.fullmatch(pattern, asked, re.IGNORECASE)
        if match and (match["meeting"] or match["day"]):
            return OutcomesAsked(outcomes, match["meeting"] or match["day"])
    return None
