"""Reads questions for who said something, and when: "who invited me to the potluck", "when did Berit say 175 degrees"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.phrases import Phrases, bare

_MOST_CHARACTERS: Final = 200

_NAMES: Final = {
    "told": "told|wrote|texted|messaged|informed|warned|reminded|mailed|emailed|tells",
    "say": "say|tell|write|mention|announce|text|message|report|promise|suggest|recommend|warn|remind|let",
    "me": "me|us|me and the group|the group|everyone",
    "link": "that|about|of|for|to|if|whether|on",
    "where": "in the group|in the chat|in our chat|in the group chat|in a chat|in the family chat|on whatsapp",
    "first": "first|last|exactly|actually|then|even",
    "who": "who|which of my friends|which friend|which of us|which person|who of my friends|whom",
}

_WHO: Final = """
    <who> [<first>] {verb:told} <me> [<link>]* {what} [<where>]
    <who> [<first>] {verb:invited} <me> [to|for|over to]* {what} [<where>]
    <who> [<first>] {verb:asked} <me> [<link>]* {what} [<where>]
    <who> [<first>] {verb:recommended} [<me>|to me]* {what} [<where>]
    <who> (has|had) {verb:recommended} [<me>|to me]* {what} [<where>]
    <who> [<first>] (mentioned|mentions|brought up|spoke about|spoke of|talked about|raised) {what} [<where>]
    <who> (was|is|were) (talking|speaking|writing|chatting|raving) about {what} [<where>]
    <who> [<first>] said [<link>] {what} [<where>]
    <who> [<first>] (wrote|said) [to me|me|<where>]* (that|about) {what} [<where>]
    from whom (did i|have i) (hear|learn|learned|heard|get to know) [<link>]* {what} [<where>]
    whom did i hear {what} from
    who did i (hear|learn) [about|of|that]* {what} from
    who (passed|lent|gave|sold|sent|brought|handed) {what} [<where>]
    who is the one (who|that) (told|asked|invited) <me> [<link>]* {what} [<where>]
    <who> [<first>] (offered|wanted|promised|planned|proposed|agreed|decided|complained|warned|reminded|thanked|congratulated|joked|announced|reported) [<me>] [<link>]*
        {what} [<where>]
    who (was|is) it [that|who]* (told|asked|invited|said|wrote|mentioned|suggested|recommended|talked about) [to|<me>|<link>]* {what} [<where>]
    who was the (one|person|first) (who|that|to)* (tell|told|ask|asked|invite|invited|say|said|wrote|write|mention|mentioned|suggest|suggested|recommended) [to|<me>|<link>]* {what} [<where>]
    who (talked|spoke|wrote|texted|messaged) [to|with]* [<me>] (about|of|on) {what} [<where>]
    who [<first>] (brings up|asks about|asked about|asks for|asked for|suggests|suggested|proposes|proposed|says|writes|mentions|knows about|knew about|raves about) [<link>]* {what} [<where>]
    (by whom|from whom|from who) (was|were|did|have|had) [i|we]* (told|invited|asked|hear|heard|learn|learned|informed|get|got|know) [of|about|that|to|for]* {what} [<where>]
    (which|what) (friend|friends|person|people|colleague|one) [of mine|of my friends]* (told|asked|invited|said|wrote|mentioned|suggested|recommended|talked about|spoke about|likes|liked) [to|<me>|
        <link>]* {what} [<where>]
    (which|who) of (us|my friends|them) (told|asked|invited|said|wrote|mentioned|suggested|recommended|talked about) [to|<me>|<link>]* {what} [<where>]
    with whom did (i|we) (talk|chat|speak|write|discuss) [about]* {what}
    (who|whom) did (i|we) (talk|chat|speak|write|discuss) (to|with) about {what}
    (who|whom) did (i|we) (talk|chat|speak|discuss) {what} with
    (who|whom) did (i|we) (hear|learn|get) [the news]* (about|of|that)* {what} from
    """

_WHEN: Final = """
    when [<first>] did i [<first>] {verb:tell} {to} (that|about|of|if|whether) {what} [<where>]
    when [<first>] did i [<first>] {verb:ask} {to} (for|about|if|whether|to) {what} [<where>]
    when [<first>] did i [<first>] (invite) {to} to {what} [<where>]
    when [<first>] did {speaker} [<first>] <say> [<me>|to me|<where>]* [that|about] {what} [<where>]
    when [<first>] did {speaker} [<first>] (ask|invite|remind|warn) (me|us) [<link>]* {what} [<where>]
    when [<first>] did {speaker} [<first>] (talk|speak) [to me|with me]* about {what} [<where>]
    when [<first>] did we [<first>] (talk|chat|speak|write) about {what} [<where>]
    (what|which|on which|on what) (day|date) did we (talk|chat|speak|discuss) [about] {what} [<where>]
    (what|which|on which|on what) (day|date) did {speaker} <say> [<me>|to me]* [that|about] {what} [<where>]
    (what|which|on which|on what) (day|date) did i (tell|ask) {to} (that|about|for|if) {what} [<where>]
    when was {what} (mentioned|talked about|discussed|brought up|announced) [in the chat|first|last|in the group]*
    when did i [<first>] hear (about|of|that) {what} [<where>]
    (what|which|on which|on what|at what) (day|date|time|month) (did|was it that|was it when|was it) {speaker} [<first>] (<say>|said|told|wrote|ask|asked|talk|invite|invited|mentioned) [<me>|to me|<where>|about|<link>]*
        {what} [<where>]
    (what|which|on which|on what) (day|date) (was|were|is) {what} (mentioned|talked about|discussed|brought up|announced|said|told|spoken of) [<where>|first|last]*
    when (was it that|was it) {speaker} (said|told|wrote|mentioned|asked|invited|announced) [<me>|to me|<link>]* {what} [<where>]
    when (has|had) {speaker} (said|told|written|mentioned|asked|invited|announced) [<me>|to me|<link>]* {what} [<where>]
    when [<first>] did {speaker} [<first>] (offer|want|plan|propose|agree|decide|complain|thank|joke|come up with|bring up|speak of|speak about|chat about|think of) [<me>|to me|<link>]* {what} [<where>]
    when [<first>] (did|have) (i|we) [<first>] (talk|chat|speak|write|talked|spoken|discuss|discussed|argue|joke) [about|of|on]* {what} [<where>]
    when [<first>] did {speaker} and (i|me) [<first>] (talk|chat|speak|write|discuss) [about]* {what}
    when [<first>] did i [<first>] (talk|chat|speak|write) (to|with) {to} about {what}
    when was the (last|first) time [that]* {speaker} (mentioned|talked about|said|asked [about|for]|wrote|told [<me>] [about]|brought up) {what} [<where>]
    when was the (last|first) time [that]* (we|i) (mentioned|talked about|discussed|spoke about|chatted about) {what} [<where>]
    when (did|have) i [<first>] (say|mention|write|said|mentioned|announce|promise|suggest) [that|to] {what} [<where>]
    when was {what} (a topic|the topic|first mentioned|last mentioned|first discussed)
    when (was|were) (i|we) (told|asked|invited|informed|warned|reminded) [<link>]* {what} [by {speaker}]
    (since when|when) did {speaker} know [<link>]* {what}
    """

_VERBS: Final[Mapping[str, str]] = {"invited": "invited|invites", "asked": "asked|asks", "recommended": "recommended|suggested|recommends|"
    "suggests|advised|praised", "tell": "tell|told|write|text|message|let", "ask": "ask"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hearsay:
    """A question for who said `what`, or when. `speaker` said it to `to`; "me" is the person, "" is not named."""

    asks: Literal["who", "when"]
    what: str
    speaker: str = ""
    to: str = ""


def read(question: str) -> Hearsay | None:
    """Return what a question asks about something said; None if it asks for anything else."""
    text = bare(question).lower().replace(",", "")
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    if (parts := _READ_WHO.read(text)) is not None:
        return Hearsay("who", parts["what"], to="me" if parts.get("verb") else "")
    for parts in _READ_WHEN.readings(text):
        speaker = "me" if "to" in parts else parts.get("speaker", "")
        if speaker == "me" or not re.search(r"\b(?:i|we|you|me|it|they|he|she|and)\b", speaker):
            return Hearsay("when", parts["what"], speaker, parts.get("to", ""))
    return None


_READ_WHO: Final = Phrases.of(_WHO, _NAMES | _VERBS)
_READ_WHEN: Final = Phrases.of(_WHEN, _NAMES | _VERBS)
