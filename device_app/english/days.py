"""Reads questions for what was done, said or written on a day: "What did I do on Saturday?", "what was said on 5 May"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from device_app.english import periods
from device_app.english.periods import Period
from device_app.english.phrases import Phrases, bare

_MOST_DAYS: Final = 7

_NAMES: Final = {
    "talk": "said|talked about|discussed|written|spoken about|told|chatted about|the talk about|mentioned|announced",
    "tell": "say|tell|write|talk about|mention|chat about|message|text|ask|want|announce|send",
}

_DONE: Final = """
    what did (i|we) [all|actually|get up to|even]* (do|get done|experience|do all day|work on|get up to|manage to do)
    what (have|had) (i|we) (done|been doing|been up to)
    what (was|were) (i|we) (up to|doing|busy with)
    what (happened|went on|was going on|took place|was there|occurred|was new|has happened|did happen) [to me|in my life|that day]*
    (what|how) was [my|the|our|it|that]* [day|week|weekend] [like] [about]
    how did (i|we) (spend|pass|use) [the|my] [day|week|weekend|time]
    (my|our|the) (day|week|weekend|diary|journal|entries) [what was in it|what was it about|what was there|what did i do|how was it]*
    what (is|was|does|did|have) [i|my|the]* (diary|journal|diary entry|diary entries) [say|written|write|of]*
    what did i (write|note|put) [down] [in (my|the) (diary|journal|notes)]
    what (is|was) in (my|the) (diary|journal)
    where (was i|were we|did i go|did we go)
    (tell me|show me|remind me) what (i did|we did|happened|i was doing|was going on)
    what i did
    (summarise|summarize|recap|describe) (my|the|our) (day|week|weekend)
    what do (my notes|my files|you) (say|know|have) (about|of|for|from|on)
    """

_SAID: Final = """
    what was (<talk>) [in the (chat|chats|group|mails)]
    what (were|was) (we|they|people|everyone|everybody) (talking about|discussing|saying|chatting about)
    what did (we|they|people|everyone|the others) (<tell>|discuss|talk about)
    what did {who} (<tell>) [me|us|to me|to us]*
    what (was|were) (the) (messages|chats|news|mails)
    (anything|something|everything|what|messages|chats) from {who}
    what did i (<tell>) [to] {to}
    what (messages|news|chats|mails) (came|did i get|were there|arrived) [from {who}]
    did {who} (write|say|tell me|message) [me] (anything|something)
    """


@dataclass(frozen=True, slots=True)
class OfDays:
    """A question for a few days: `form` is whether something was done or said; `who` said it, `to` whom, or ""."""

    form: Literal["done", "said"]
    period: Period
    who: str = ""
    to: str = ""


def read(question: str, today: date) -> OfDays | None:
    """Return what a question asks of a few days; None if it asks anything else, or for more than a week."""
    text = bare(question)
    period = periods.read(text, today)
    if not period or not period.first or not 0 < period.days <= _MOST_DAYS:
        return None
    said = period.rest.lower().replace(",", "").replace("?", "").strip()
    for words in dict.fromkeys((said, _DONE_PHRASES.corrected(said))):
        if _DONE_PHRASES.read(words) is not None:
            return OfDays("done", period)
        if (parts := _SAID_PHRASES.read(words)) is not None:
            return OfDays("said", period, parts.get("who", ""), parts.get("to", ""))
    return None


_DONE_PHRASES: Final = Phrases.of(_DONE, _NAMES)
_SAID_PHRASES: Final = Phrases.of(_SAID, _NAMES)
