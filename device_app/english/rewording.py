"""Puts a question more plainly: in whole words, without the sentence around it, and with its subject behind the verb.

"sorry, any idea when the book club is on, i keep forgetting" asks "when the book club is on", and "that vet, what's her
number" asks "what's that vet's number". Rules are asked it where they do not understand the question as typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from device_app.english.hearsay import KIN
from device_app.english.politeness import bare
from device_app.english.slots import Vocabulary
from device_app.english.stop_words import STOP_WORDS, word_set

_MOST_CHARACTERS: Final = 240
_LEAST_NAME: Final = 4
_QUOTES: Final = re.compile(r"[\"“”„«»]|(?<!\w)['‘]\S.*['’](?!\w)")

_LEFT_OUT: Final = "left out"
_WORD: Final = r"[\w'’/-]+"
_FEW_WORDS: Final = rf"(?:{_WORD} ){{0,3}}{_WORD}"

_ASKS: Final = r"(?:who|whom|whose|what|when|where|which|how|if|whether)(?:['’]?s|['’]?re)?"
_ASKING: Final = re.compile(rf"\b{_ASKS}\b", re.IGNORECASE)

_SEE: Final = r"(?: to (?:see|find|have|get|read|look at|know|check))?"
_REQUEST: Final = re.compile(
    r"(?:(?:hi|hey|hello|ok|so|well|sorry|please)[\s,]+)*(?:"
    r"(?:i|we) (?:really |just |only |urgently )*(?:need|want|require|am (?:after|looking for|trying to find))"
    rf"{_SEE}|(?:i|we)(?:'d| would) (?:really |just )?(?:like|love|need|appreciate){_SEE}|"
    r"(?:can|could|may|might) (?:i|we) (?:please |just )?(?:have|get|see|read)|"
    r"(?:can|could|would|will) you (?:please |just |quickly )*(?:help me )?"
    r"(?:find|get|give|fetch|show|tell|send|bring|pull|dig|look|list|name|check|say)(?: up| out| me| us| for)*|"
    r"(?:help me (?:find|get|see)|looking for|let(?:'s| us) (?:see|have)|let me (?:see|have)|need|want|"
    r"do me a favou?r and (?:find|get|show|tell)(?: me)?|see if you can (?:find|get)(?: me)?)"
    r")\s+(?=\S)",
    re.IGNORECASE,
)
"""Matches a request that a phrase follows, not a question: "I need …", "could I have …"."""

_POLITE: Final = (
    "please (?:tell|remind|show|help) me|please|pls|"
    "thanks?(?: you| a lot| a bunch| so much)?|cheers|ta|though|again|anyway|exactly|jackdaw|or what|or something"
)
_ASIDE: Final = (
    r"(?:do|would|might) you (?:happen to )?(?:know|remember|recall)|any (?:idea|clue|chance)|"
    r"i(?:'ve| have)? (?:(?:keep|completely|totally|always) )*(?:forgetting|forgotten|forgot|forget|lost track|wonder)|"
    r"i(?:'m| am) (?:not sure|wondering|curious|asking|trying to remember)|"
    r"(?:i )?(?:can't|cannot|don't) (?:remember|recall|think)|"
    r"(?:can|could|would|will) you (?:please )?(?:tell|remind|show|help|check|look|find|say|see)"
    r"(?: me| us| it| that| up| out| for)*|"
    r"(?:tell|remind|show|help) me|(?:i'd|i would) (?:like|love) to know|(?:i )?(?:need|want) to know|"
    r"let me know|for me|my mind(?:'s| is| has)? (?:gone )?blank|it(?:'s| has) slipped my mind|quickly|quick"
)
_AFTERTHOUGHT: Final = re.compile(
    rf"(?:[\s,;.!?–-]+(?:{_POLITE})|\s*[,;.!?–-][\s,;.!?–-]*(?:{_ASIDE}))+\W*$", re.IGNORECASE
)
"""Matches what is said behind a question: polite words, and clauses behind a comma, such as "i keep forgetting".

Without a comma, such a clause may be what is asked about: "what do I need to know", "is there a parcel for me".
"""

_POINTED: Final = r"(?:it|that|this|he|she|they|those|these|the one|him|her|them)"
_FRONT: Final = rf"(?P<subject>(?!{_ASKS}\b){_FEW_WORDS})(?:\s*[,;:–—?]\s*|\s+-\s+"
_SUBJECT_FIRST: Final = (
    re.compile(
        rf"{_FRONT}|\s+)(?:and )?"
        r"(?P<asks>(?:who|when|where|what|which day|what day|what time|how long until|how old) ?"
        rf"(?:(?:is|was|are|were)|['’]?s)) {_POINTED}(?: (?:again|on|called|due|happening|taking place))?",
        re.IGNORECASE,
    ),
    re.compile(rf"{_FRONT})(?:and )?(?P<asks>(?:who|when|where|what day|which day|what time))", re.IGNORECASE),
)
"""Match a question whose subject stands before it: "the book club, when is it?"."""

_OWNED_FIRST: Final = re.compile(
    rf"{_FRONT})(?:and )?(?P<asks>(?:what|who|when|where)(?:['’]?s| is| was)) (?:his|her|their|its) "
    r"(?P<owned>\w[\w ]{1,30})",
    re.IGNORECASE,
)

_NO_FRAME: Final = re.compile(
    r"^\W*(?:have|has|had|did|do|does|should|shall)(?:n['’]?t)? (?:i|we|they|it|that|this)\b|"
    r"\w (?:there|help|ok|okay|good|nice|great) $|"
    r"\b(?:don['’]?t|didn['’]?t|not|never|no need) (?:to )?(?:remind|tell|need|want|check|look|say|hear|help|give)\b|"
    r"^\W*(?:(?:and|but|so|well|ok|okay|oh) )*(?:i|we) (?:(?:do|still|already|will) )?"
    r"(?:know|knew|remember|recall|understand|see)\b(?!.*\bbut\b)",
    re.IGNORECASE,
)
"""Matches a question, a refusal or a statement: "have we asked when …", "is it ok if …", "don't remind me when …"."""

_ASKS_FOR: Final = re.compile(
    r"\b(?:know|knew|knowing|remember(?:ing)?|recall(?:ing)?|tell|remind(?:ing|er|ed)?|wonder(?:ed|ing)?|curious|"
    r"interested|forgot|forget|forgotten|forgetting|track|clue|idea|(?:un)?sure|certain|puzzled|confused|blank|slipped|"
    r"memory|brains?|head|idk|dunno|enlighten|understand|confirm)\b|"
    r"\b(?:find|finding|figur(?:e|ing)|work(?:ing)?|look(?:ing)?) (?:it |this |that )?(?:out|up|for)\b|"
    r"\b(?:walk|talk|take|run|fill|catch|bring|put|update|brief|loop) me\b|"
    r"\b(?:check|checking|see|say|hear|find|give)(?: me| us)?\W*$|\bhelp me (?:out )?with\W*$|[,;:.!?–-]\W*$",
    re.IGNORECASE,
)
"""Matches what makes words a frame of the question behind them; without it, they belong to the question."""

_OPENERS: Final = word_set(
    """hi hey hello jackdaw dear there good sorry thanks hmm hm um uh er erm oh ah ok okay well so and but also really
    honestly actually please pls kindly just quick quickly question again"""
)

_CLAUSES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (r"^(?:if|whether) (?:or not )?(?=\S)", "if "),
        (r"^if i(?:'m| am|m)\b", "am i"),
        (r"^if we(?:'re| are)\b", "are we"),
        (r"^if i(?:'ve| have|ve)(?: got)?\b", "do i have"),
        (r"^if there(?:'s| is|s| are)\b", "is there"),
        (r"^if (i|we) (can|could|should|need|have|got|did|was|had|must)\b", r"\2 \1"),
        (r"^if (\S+(?: \S+)?) (has|is|was|did|will|can|had|are|were)\b", r"\2 \1"),
        (r"^if (\S+) (?=(?:sent|wrote|emailed|mailed|said|mentioned|told|asked|called|texted|messaged)\b)", r"did \1 "),
    )
)
"""Turn a clause into a question: "if there's a mail from Anna", "whether I am free"."""


_MEETS: Final = re.compile(
    r"(?:(?:can|could|may|might|shall|should) (?:i|we)|(?:do|would|will) (?:i|we) have (?:the |any )?time|"
    r"is there (?:any )?time) (?:to |for )?"
    r"(?:(?:see|meet(?: up)?(?: with)?|visit|invite|catch up with|get together with|fit in|"
    r"have (?:lunch|dinner|breakfast|supper|tea|(?:a )?(?:coffee|drink|beer)) with) )?"
    r"(?P<who>[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*)??) "
    r"(?P<when>(?:(?:on|this|next|in the|at) \S|(?:today|tonight|tomorrow|\w+day|later)\b).*)",
    re.IGNORECASE,
)
"""Matches a question whether there is time for somebody: "can we see Petra on Friday?" depends on the own calendar."""


def plain(question: str, is_name: Callable[[str], bool]) -> str:
    """Return the question put more plainly; unchanged if it is plain, or quotes words, which must stay as they are.

    `is_name` says whether a word in lower case is part of somebody's name: "annas number" is Anna's.
    """
    if len(question) > _MOST_CHARACTERS or _QUOTES.search(question):
        return question
    asked = bare(question)
    if (meets := _MEETS.fullmatch(asked)) and all(is_name(word) for word in meets["who"].lower().split()):
        return f"am i free {meets['when']}"
    text = _in_whole_words(_OWNER.sub(lambda match: _owned(match, is_name), asked))
    text = _without_frame(text)
    text = _in_order(text)
    for pattern, form in _CLAUSES:
        text = pattern.sub(form, text)
    return question if text == asked else text


def _owned(match: re.Match[str], is_name: Callable[[str], bool]) -> str:
    """Return a name that lacks the apostrophe of its genitive with it; any other word unchanged."""
    word, owner = match[0].lower(), match[0][:-1].lower()
    is_owner = owner in KIN or (len(owner) >= _LEAST_NAME and owner not in STOP_WORDS and is_name(owner))
    is_genitive = is_owner and not is_name(word) and match["owned"].lower() not in STOP_WORDS
    return f"{match[0][:-1]}'s" if is_genitive else match[0]


def _in_whole_words(text: str) -> str:
    """Return a text with short forms and idioms in plain words, and without words that ask for nothing."""
    said = _SHORT.sub(lambda match: "" if (form := _FORMS[match[0].lower()]) == _LEFT_OUT else form, text)
    return re.sub(r"\s+([,;?!])", r"\1", " ".join(said.split())).strip(" ,;")


def _without_frame(text: str) -> str:
    """Return a text without the sentence before its question and the afterthoughts behind it."""
    if (end := _AFTERTHOUGHT.search(text)) and len(text[: end.start()].split()) > 1:
        text = text[: end.start()]
    for asks in _ASKING.finditer(text):
        before = re.findall(_WORD, text[: asks.start()].lower())
        if not all(word in _FRAME.kinds for word in before) or not _is_frame(text[: asks.start()]):
            break
        if before and not (len(before) == 1 and before[0] in _TIED):
            return text[asks.start() :]
    request = _REQUEST.match(text)
    return text[request.end() :] if request else text


def _is_frame(before: str) -> bool:
    """Return whether the words before a question only ask it: "any idea", but not "can you help"."""
    is_opening = _OPENERS.issuperset(re.findall(_WORD, before.lower()))
    return not _NO_FRAME.search(before) and (is_opening or bool(_ASKS_FOR.search(before)))


def _in_order(text: str) -> str:
    """Return a text with the subject behind the words that ask: "the vet, what is her number" asks for the vet's."""
    if owned := _OWNED_FIRST.fullmatch(text):
        return f"{owned['asks']} {owned['subject']}'s {owned['owned']}"
    for pattern in _SUBJECT_FIRST:
        if match := pattern.fullmatch(text):
            is_whole = pattern is _SUBJECT_FIRST[0]
            return f"{match['asks']}{'' if is_whole else ' is'} {match['subject']}"
    return text


_FORMS: Final = Vocabulary.load("rewording").kinds
_FRAME: Final = Vocabulary.load("frames")
_SHORT: Final = re.compile(
    rf"(?<![\w'’.@/-])(?:{'|'.join(sorted(map(re.escape, _FORMS), key=len, reverse=True))})(?![\w'’@/-])", re.IGNORECASE
)
_OWNER: Final = re.compile(r"\b[^\W\d_]{3,}s(?= (?P<owned>[^\W\d_]+))", re.IGNORECASE)
_TIED: Final = frozenset(["at", "on", "in", "to", "for", "with", "of", "through"])
"""Prepositions that belong to the question word behind them: "with whom"."""
