"""Recognises small talk, and questions about the program itself. A text has to match as a whole.

A text with any further content, such as "Hi, when is the dentist?", is not small talk.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from device_app.english.phrases import load
from device_app.english.stop_words import STOP_WORDS, word_set

_MOST_CHARACTERS: Final = 160
_MOST_PARTS, _MOST_WORDS = 4, 8

_BEFORE_THEM = (
    "jackdaw|there|ok|okay|oh|ah|so|well|please|um|umm|hey|hi|hello|but|and|sorry|excuse me|just asking|just "
    "curious|just wondering|tell me|(?:can|could|would) you (?:please )?tell me"
)
_BEHIND_THEM = (
    "jackdaw|there|everyone|friend|buddy|mate|my friend|dear|little bird|again|man|dude|folks|please|then|now|today|ok|"
    "okay|if i may ask|btw|by the way|actually|exactly|anyway|indeed"
)
_BEFORE = re.compile(rf"(?:(?:{_BEFORE_THEM})[,; ]+)+(?=\S)")
_BEHIND = re.compile(rf"(?:[,; ]+(?:{_BEHIND_THEM}))+$")
_EMOTICON = re.compile(r"(?<!\w)[:;]-?[()DPp](?!\w)|<3")
_SIGNS = re.compile(r"[^\w\s'?,;.!-]+")
_ENDS = re.compile(r"\s*(?:[.!?…]+(?=\s|$)|;)\s*")
_PARTS = re.compile(r"\s*[,;]\s*|\s+(?:and|-)\s+")


def topic(text: str) -> str | None:
    """Return the topic of a text, a form of talk.txt, if the text is small talk or about the program; else None."""
    if len(text) > _MOST_CHARACTERS or not text.strip():
        return None
    if not re.search(r"\w", text):
        is_emoji = any(unicodedata.category(character) == "So" for character in text)
        return "help" if "?" in text else "greeting" if is_emoji else None
    said = _SIGNS.sub(" ", _EMOTICON.sub(" ", re.sub(r"[’`´]", "'", text.lower())))
    said = " ".join(_ENDS.sub("; ", said).split()).strip(" ,;-")
    return _of(said) or _of_parts(said) or _of_words(said)


def _of(said: str) -> str | None:
    """Return the topic of a text, with or without a form of address or a polite word around the text."""
    shorter = _BEFORE.sub("", said, 1) if _BEFORE.match(said) else said
    texts = dict.fromkeys((said, _BEHIND.sub("", said), shorter, _BEHIND.sub("", shorter)))
    return next(
        (topic for text in texts for topic, phrases in _COMPILED.items() if phrases.read(text) is not None), None
    )


def _of_parts(said: str) -> str | None:
    """Return the last topic of a text all of whose parts are small talk: "hi, how are you", "ok thanks bye"."""
    parts = [part for part in _PARTS.split(said) if part]
    topics = [_of(part) for part in parts]
    if 1 < len(parts) <= _MOST_PARTS and all(topics):
        return topics[-1]
    words = said.split()
    halves = ((_of(" ".join(words[:place])), _of(" ".join(words[place:]))) for place in range(1, len(words)))
    return next((last for first, last in halves if first and last), None) if len(words) <= _MOST_WORDS else None


def _of_words(said: str) -> str | None:
    """Return the topic of a text all of whose words are in phrases about the program, by its most telling word.

    The text has to address the program, so that it does not ask for facts from the files.
    """
    words = set(re.findall(r"[\w'-]+", said))
    owned = set(re.findall(r"\b(?:my|the|a|an|our|that|this) ([\w'-]+)", said))
    if not words & _ADDRESS or not words <= _ALL_WORDS or not owned <= _ABOUT_IT:
        return None
    return next((topic for topic, said_by in _KEYWORDS.items() if words & said_by), None)


_COMPILED: Final = load("talk")
_ALL_WORDS: Final = STOP_WORDS.union(*(phrases.vocabulary for phrases in _COMPILED.values()))
_ADDRESS: Final = word_set("you your yours yourself u ur jackdaw app program assistant")
_ABOUT_IT: Final = _ADDRESS | word_set(
    """file files document documents note notes data stuff things folder folders mail mails email emails chat chats
    question questions answer answers internet cloud server network computer device phone index history
    conversation conversations model
    version update human robot bot person private own personal better larger pdf word
    company language manual"""
)
"""Words that may follow an article in a question about the program: the program, its files and its parts."""

_KEYWORDS: Final = {
    "version": word_set("version update upgrade outdated"),
    "which model": word_set("model llm brain models engine"),
    "offline": word_set("internet offline online wifi plane subscription account cost"),
    "languages": word_set("german french spanish italian language languages dutch chinese english"),
    "wrong": word_set("wrong mistake mistakes hallucinate reliable accurate incorrect lie"),
    "private": word_set(
        "send share upload leak cloud private privacy secure spy track safe trust stored server collect"
    ),
    "files safe": word_set("delete change modify edit move rename overwrite damage erase"),
    "forget": word_set("forget remove clear reset wipe"),
    "how to add": word_set("add import index pdf pdfs word excel ics docx formats format open support include"),
    "how many files": word_set("read indexed"),
    "who are you": word_set("name who made built created human robot bot ai old live person"),
    "what can you do": word_set("able features purpose useful capabilities good"),
}
"""The topics of questions to the program, each with its keywords; the first topic with a matching word counts."""
