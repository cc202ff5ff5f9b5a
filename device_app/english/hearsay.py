"""Reads questions for who said something, and when: "who invited me to the potluck", "when did Berit say 175 degrees"."""

from __future__ import annotations

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
    if (parts := _READ_WHEN.read(text)) is not None:
        speaker = "me" if "to" in parts else parts.get("speaker", "")
        return Hearsay("when", parts["what"], speaker, parts.get("to", ""))
    return None


_READ_WHO: Final = Phrases.of(_WHO, _NAMES | _VERBS)
_READ_WHEN: Final = Phrases.of(_WHEN, _NAMES | _VERBS)
