"""Recognises sentences that move or cancel an event, and what they say of its days and times. Pure.

Unlike a `changes.Change`, a notice need not answer a question alone: "It is moved to Friday" is a notice of the event
named before it. What may, might or should be moved, and what is only asked, is no notice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english import clocks, event_names
from device_app.english.notice_days import MOVED, VERB, old_and_new, says_when
from device_app.english.stop_words import word_set
from device_app.english.terms import plain

Owner = Literal["", "mine", "others"]

WORDS: Final = sorted(
    word_set(
        """moved rescheduled postponed pushed shifted forward delayed changed relocated adjourned deferred cancelled
        canceled cancellation scrapped off instead new longer rather now earlier later sooner not no cannot can't won't
        doesn't isn't fell fallen planned scheduled still stays remains correction update back wrong untrue mistake"""
    )
)
"""Words of which every notice, and nearly every denial of one, has at least one."""

_MAY_SAY: Final = re.compile(
    r"\b(?:(?:not?|new|now|off|back|still|as|put)\b|mov|reschedul|postpon|push|shift|forward|delay|chang|relocat|"
    r"adjourn|defer|cancel|call|scrap|instead|longer|rather|earlier|later|sooner|correction|update|fell|fall|stay|remain|"
    r"false|wrong|true|mistake|un-?cancel|after all|plans)|n.t\b",
    re.IGNORECASE,
)
"""Matches most sentences that are a notice or a denial, and far fewer others, at a small cost."""

_MOST_CHARACTERS: Final = 400
_ADVERBS: Final = (
    "now|also|already|just|unfortunately|sadly|therefore|thus|again|only|sorry|finally|hereby|then|all|actually|once|"
    "more|however|regrettably"
)
_OFF: Final = (
    r"cancell?ed|called off|scrapped|"
    r"off(?=$|[.!,;)]| (?:on|for|today|tonight|tomorrow|this|next|because|as|due|after)\b)(?! for (?:his|her|my|a)\b)"
)
_LICENCE: Final = (
    r"(?:(?:have|has|had|need|needs|needed|going|am|are|is|forced|obliged) to|must|will|'ll|am|'m|are|'re|is|has|have|"
    rf"'ve|we|they|i|he|she)(?: (?:{_ADVERBS}))*"
)
"""Words right before a verb that make a statement of it: "we have to move", but not "we would like to move"."""

_PASSIVE: Final = re.compile(
    rf"(?:(?:\b(?:is|are|was|were|be|been|being|got|gets)|'s|'re)(?: (?:{_ADVERBS}|being|going to be))*"
    rf" (?P<verb>{MOVED}|{_OFF})|\b(?:has|have)(?: (?:{_ADVERBS}))* (?:moved|changed|shifted)(?= to| from|$|[:,]))"
    r"(?!\w)"
)
_BARE: Final = re.compile(rf"\b(?P<verb>(?:{MOVED}|cancell?ed)(?=$|[.!;,:)]| (?:to|until|till|for|by|on|from)\b))")
"""Matches a participle of which the verb is left out: "Choir rehearsal moved to Friday"."""

_ACTIVE: Final = re.compile(
    rf"\b(?:(?P<licence>{_LICENCE}) )?(?P<verb>{VERB})(?: (?:off|back|forward))? (?P<object>(?:the|our|your|my|this"
    rf"|that|his|her|their|it|today's|tonight's|tomorrow's|\w+day's)\b.*)"
)
_NO_OBJECT: Final = re.compile(
    rf"\b{_LICENCE} (?P<verb>move|reschedule|postpone|cancel|call off|put off)(?=$|[.!,;]| (?:to|until|till|on|today|"
    r"tonight|tomorrow|this|next|because|as|due|from)\b)"
)
_NOT_ON: Final = re.compile(
    rf"(?:\b(?:will not|won't|does not|doesn't|is not|isn't|cannot|can't|'s not)(?: (?:{_ADVERBS}))* (?:be )?"
    r"(?:tak(?:e|ing) place|meet|happen(?:ing)?|be held|held)|\b(?:falls|fell|fallen) through)\b"
)
_NONE: Final = re.compile(
    r"(?:^|[,:;] ?|\bthere (?:is|will be|'s) |\bthere's )no (?P<what>(?:[\w'-]+ ){0,4}?[\w'-]+)(?= (?:on|today|tonight|"
    r"tomorrow|this|next|for)\b|[.!]?$)"
)
_NEW: Final = re.compile(
    r"\bnew (?:start(?:ing)? )?(?:time|date|day|slot|start|appointment|(?P<place>place|venue|room|location|address))\b"
    r"(?P<what>.{0,60}?)(?P<verb>\bis\b|\bare\b|\bwill be\b|\bwould be\b|:| [–-] | on\b| at\b)"
)
_OTHER: Final = re.compile(
    r"\binstead\b|\bno longer (?:on|at)\b|\brather than\b|\bnot (?:on|at) .{1,30}\bbut\b|\bnow (?:at|on|from|starts?|"
    r"begins?|meets?|takes? place)\b|,? (?:and )?not (?:on |at )?(?=\S+(?: \S+)?(?: \S+)?[.!)]*$)"
    r"|^(?:correction|update|change of plans?|plans changed)\b"
)
_BY: Final = re.compile(
    r"\b(?:hours?|minutes|days?|weeks?) (?:later|earlier|sooner)\b(?! than)|\bby (?:an?|\w+) (?:hour|day|week)s?\b"
)
_MOVES: Final = re.compile(r"\b(?:moves|shifts) (?:to|from)\b")
_OF_TIMES: Final = re.compile(r"\b(?:times?|dates?|days?|start|place|venue|room|location|appointment)\b")
_HAPPENS: Final = re.compile(
    r"\b(?:meets?|meeting|starts?|begins?|starting|beginning|takes? place|happens?|comes?|arrives?|coming|moves?"
    r"|shifts?|makes? it|rehearse|gather|(?P<is>is|are|will be|be|'s))\b"
)
_PRONOUNS: Final = word_set("we i they he she you us let's let")
_CONDITION: Final = re.compile(r"\b(?:if|unless|whether|in case|maybe|perhaps|possibly|probably|hopefully)\b")
_HEDGE: Final = re.compile(
    r"\b(?:might|may|could|should|hope|hoping|wonder|would|almost|nearly|asked?|please|never|nor|nothing|without|rumou?rs?"
    r"|allegedly|supposedly|apparently)\b"
    r"|(?:\b(?:not|cannot)\b|n't\b)(?: \w+){0,3}$"
)
"""Matches words before a verb that take the certainty from it."""
_DENIED: Final = re.compile(
    rf"(?:\b(?:not|never)\b|n't\b)(?: \w+){{0,3}} (?:{MOVED}|cancell?ed|off)\b|\bas (?:planned|scheduled|usual|agreed|"
    r"always|before|announced)\b|\b(?:still|back) on\b|\bon after all\b|\btakes? place after all\b|\bstays? (?:on|at|"
    r"as|where)\b|\bremains? (?:on|at|as|the same)\b|\bback to\b|\bfalse alarm\b|\bun-?cancell?ed\b"
    r"|\b(?:that|this|it)(?:'s| is| was) (?:wrong|false|untrue|not true|a mistake)\b"
)
_NOTED: Final = re.compile(r"\bplease (?:note|be (?:aware|advised|informed))(?: that)?\b:?")
_QUOTED: Final = re.compile(r"[“\"«„][^“”\"«»„]*[”\"»“]")
_CITED: Final = re.compile(
    r"^\s*(?:>|\|)|\b(?:you|he|she|they|\w+) (?:wrote|said|asked|announced)\b.{0,40}[:,]|\bwrote:"
)
_CUT: Final = re.compile(
    r"[,;:()–—]|\s-\s|\b(?:and|but|so|that|because|since|as|while|when|which|who|although|though)\b"
)
_REASON: Final = re.compile(
    r"^(?:of|due to|owing to) (?:(?:the|a|an|our|my) )?\w+(?: \w+)? (?=(?:the|our|your|my|this|\w+'s)\b)"
)
_CLAUSE_END: Final = re.compile(r"[,;()–—](?! ?\d)|\s-\s|\b(?:and|but|so|because|since|while|although|though)\b")


@dataclass(frozen=True, slots=True)
class Notice:
    """What a sentence says of an event: that it is moved or cancelled.

    `words` are the stems that name the event, () for "it", "we" or "the appointment"; `general` are words such as
    "meeting", which suit many events. `owner`: it is the writer's own event, or that of another person. `held` are the
    words about what held before, or about the event's day; `new` those about what holds now.
    """

    kind: Literal["moved", "cancelled"]
    words: tuple[str, ...]
    general: tuple[str, ...]
    owner: Owner
    held: str
    new: str


def notice(sentence: str) -> Notice | None:
    """Return the notice that a sentence gives; None if it gives none, denies it, or is unsure of it."""
    if len(sentence) > _MOST_CHARACTERS or not _MAY_SAY.search(sentence):
        return None
    text = _prepared(sentence)
    if not text or "?" in text or _CONDITION.search(text) or _CITED.search(text):
        return None
    if cancelled := next((each for each in _cancelled(text) if each.is_sure(text)), None):
        end = _CLAUSE_END.search(cancelled.behind)
        held = f"{cancelled.before} {cancelled.behind[: end.start()] if end else cancelled.behind}"
        return _notice("cancelled", cancelled.what, held, cancelled.behind[end.end() :] if end else "")
    if not (every := [each for each in _moved(text) if each.is_sure(text)]):
        return None
    moved = next((each for each in every if event_names.stems(each.what)), every[0])
    held, new = (text, "") if _BY.search(text) else old_and_new(text)
    return _notice("moved", moved.what, held, new)


def denies(sentence: str) -> bool:
    """Return whether a sentence says that something is not moved or cancelled, or takes place as planned."""
    text = _prepared(sentence) if len(sentence) <= _MOST_CHARACTERS and _MAY_SAY.search(sentence) else ""
    return "?" not in text and bool(_DENIED.search(text)) and notice(sentence) is None


def _prepared(sentence: str) -> str:
    text = (
        _NOTED.sub(" ", clocks.in_full(plain(_QUOTED.sub(" ", sentence))))
        .replace("’", "'")
        .replace("*", "")
        .replace("_", " ")
    )
    return " ".join(text.split()).rstrip(" .!")


@dataclass(frozen=True, slots=True)
class _Match:
    """A verb that moves or cancels `what`; `start` is its place, `before` and `behind` are the words around it."""

    what: str
    start: int
    before: str
    behind: str

    def is_sure(self, text: str) -> bool:
        """Return whether no word before the verb takes its certainty from it."""
        return not _HEDGE.search(re.split("[,;:]", text[: self.start])[-1].rstrip())


def _cancelled(text: str) -> Iterator[_Match]:
    """Yield what a text cancels, by each way in which it may say so."""
    for pattern in (_PASSIVE, _BARE):
        for match in pattern.finditer(text):
            if re.match(_OFF, match["verb"] or "") or (match["verb"] or "").startswith(("cancel", "off")):
                yield _subject(text, match)
    if not_on := _NOT_ON.search(text):
        yield _subject(text, not_on)
    if none := _NONE.search(text):
        yield _Match(none["what"], none.start(), text[: none.end("what")], text[none.end() :])
    if (active := _ACTIVE.search(text)) and _calls_off(active["verb"], text) and _is_stated(active):
        yield _Match(_object(active["object"]), active.start("verb"), "", active["object"])
    if (bare := _NO_OBJECT.search(text)) and _calls_off(bare["verb"], text):
        yield _Match("", bare.start("verb"), "", text[bare.end() :])


def _moved(text: str) -> Iterator[_Match]:
    """Yield what a text moves, by each way in which it may say so."""
    has_when = says_when(text)
    if (new := _NEW.search(text)) and (has_when or new["place"]):
        named = re.match(r" (?:of|for) (.+)", new["what"])
        if named or not new["what"].strip():
            yield _Match(_object(named[1]) if named else "", new.start(), "", "")
    for pattern in (_PASSIVE, _BARE):
        if match := pattern.search(text):
            subject = _subject(text, match)
            is_person = not _PRONOUNS.isdisjoint(subject.what.split())
            is_change = "changed" in match[0] and not _OF_TIMES.search(subject.what)
            if has_when or not (is_person or is_change):
                yield subject
    if (active := _ACTIVE.search(text)) and _is_stated(active) and not _calls_off(active["verb"], text):
        yield _Match(_object(active["object"]), active.start("verb"), "", "")
    if has_when and (bare := _NO_OBJECT.search(text)):
        yield _Match("", bare.start("verb"), "", "")
    if has_when and (_OTHER.search(text) or _BY.search(text) or _MOVES.search(text)):
        for happens in _HAPPENS.finditer(text):
            subject = _subject(text, happens)
            if not happens["is"] or _PRONOUNS.isdisjoint(subject.what.split()):
                yield subject
                return


def _subject(text: str, match: re.Match[str]) -> _Match:
    before = text[: match.start()]
    return _Match(_before(before), match.start(), before, text[match.end() :])


def _calls_off(verb: str, text: str) -> bool:
    return verb.startswith("cancel") or (verb.startswith("call") and " off" in text)


def _is_stated(match: re.Match[str]) -> bool:
    """Return whether a verb with an object is a statement that moves it: in the past, or behind a word that says so."""
    verb, behind = match["verb"], match.string[match.end("verb") :]
    if verb.startswith(("put", "push", "br", "call")) and not re.search(r"\b(?:off|back|forward)\b", behind):
        return False
    if verb.startswith("chang") and not _OF_TIMES.search(match["object"]):
        return False
    return bool(match["licence"]) or verb.endswith("ed") or verb == "brought"


def _before(text: str) -> str:
    """Return the words before a verb that belong to it: those behind the last comma or conjunction.

    Without a comma, a reason may stand before them: "because of the storm the rehearsal".
    """
    return _REASON.sub("", _CUT.split(text)[-1].strip())


def _object(text: str) -> str:
    """Return the words of an object: those before the next comma, conjunction, or "to" and "until"."""
    return re.split(r"\b(?:to|until|till|from|due)\b|\bforward\b|\bback\b|\boff\b", _CUT.split(text)[0])[0].strip()


def _notice(kind: Literal["moved", "cancelled"], what: str, held: str, new: str) -> Notice:
    words = what.split()
    owner: Owner = "mine" if {"my", "mine"} & {*words} else "others" if {"his", "her", "their"} & {*words} else ""
    return Notice(kind, event_names.stems(what), event_names.general(what), owner, held, new)
