"""Reads questions for what was done, said or written on a day: "What did I do on Saturday?", "what was said on 5 May"."""

from __future__ import annotations

import re
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
    (what did|did) [anything|something]* (happen|take place|occur|go on) [to me]
    (was|is) (there|anything)* [anything|something] (special|important|going on|happening|interesting|noteworthy|new|on)*
    what (was|were) (going on|happening|my plans|the plan|my activities|the events|on|up|special)
    what (have|had) (i|we) (been|got)* (doing|working on|up to|busy with|planned|done)
    (who|whom) did (i|we) (meet|see|visit|talk to|speak to|speak with|talk with)
    where (was i|were we|did (i|we) (go|eat|sleep|stay|travel)|have i been|had i been)
    (how|what) was [my|the|that]* (day|week|weekend|morning|evening)*
    (tell|show|give|remind) [me|us]* [about|of|what happened|a summary of|a recap of|an overview of|what was|everything from|everything about|everything of|my]* [on|day|diary]*
    about [my|the]* [day]
    (my|the) (diary|journal|notes|log|day|entries) (for|of|from|on|entry)*
    (what|anything) [is|was|have i|did i]* [written|write|put|note|noted|in]* [down]* [in|my|the]* (diary|journal|notes|log) [for|of|on|say|about|entry]*
    (diary|journal|notes|log) [entry|entries|for|of|from|on]*
    (summarise|summarize|recap|describe|review|sum up) [my|the|our|what happened|what i did]* [day|week|weekend|morning]*
    what (do|does) (my|the) (notes|diary|files|journal|chats|mails) (say|tell|know|hold) [me|us]* [about|of|for|on]*
    (which|what) (things|events|activities) (did i do|did we do|happened|took place|were there)
    what all (did i do|happened|was going on)
    (did i|have i|had i) (do|done|get up to) (anything|something) [special|interesting|useful]*
    what (kept me busy|was i busy with|was i working on|occupied me)
    [any] memories [of|from]*
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
    what was (the) (chat|group chat|group|conversation|talk|discussion|topic) [about|of the day]*
    what (was|were) (i|we) and {who} (talking|chatting|writing) [about]
    what did (i|we) and {who} (<tell>|discuss|talk about|chat about)
    what did {who} and (i|me) (<tell>|discuss|talk about|chat about)
    what did (i|we) (<tell>|discuss|talk about|chat about) with {who}
    what (was|were) (i|we) (talking|chatting|writing|discussing) about with {who}
    what (has|had) {who} (said|told me|written|announced|asked)
    what {who} (said|told me|wrote|asked me|announced|mentioned)
    what (was|were) {who} (saying|talking about|telling me|asking|writing about|on about)
    (show|give|list|read|find) [me] [the|all|my]* (chat|chats|messages|conversation|conversations|group chat) [from|of|on|with]* [{who}]
    [the|my|all]* (chat|chats|messages|conversation|conversations|group chat) [from|of|on]*
    [the|my|all]* (chat|chats|messages|conversation|conversations) with {who}
    (did|has) {who} (write|say|tell|message|text|call|send|written|said|told) [me|to me|us]* (anything|something) [to me]*
    (who|which people) (wrote|texted|messaged|talked|chatted|spoke|said something|said what) [to me|with me|in the group|in the chat]*
    (what|anything) (was|were) (said|written|discussed|talked about) (by|with) {who}
    what (did|does) the (chat|chats|group|messages) (say|talk about|discuss)
    (anything|something|messages|news|word) (new|heard)* from {who}
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
        for parts in _SAID_PHRASES.readings(words):
            if not re.search(r"\b(?:and|i|we|you|me)\b", parts.get("who", "")):
                return OfDays("said", period, parts.get("who", ""), parts.get("to", ""))
    return None


_DONE_PHRASES: Final = Phrases.of(_DONE, _NAMES)
_SAID_PHRASES: Final = Phrases.of(_SAID, _NAMES)
