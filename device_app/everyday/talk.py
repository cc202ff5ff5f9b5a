"""Answers small talk and questions about the program, partly with facts about the person's files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import talk
from device_app.everyday.kinds import counted_kind
from device_app.everyday.rule import Asked, Item, Ruled
from shared.printable import counted

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

ADD: Final = (
    "To let me read a file or a folder: `jackdaw add FOLDER`, or `/add` in the app. I read notes, mails (eml, mbox, "
    "Maildir), calendars (ics), contacts (vcf), chats, PDFs, Office documents, tables and web pages, and never change "
    "them. Folders that were added once are kept up to date."
)
PRIVATE: Final = (
    "No: your files and their names stay on this device. A question leaves it only if you have connected a companion "
    "server and allow that. If you let the server help to write answers (`--together`), drafts of them leave it as "
    "well, which may repeat text of your files. `jackdaw why` says what left the device; `--local-only` sends nothing."
)

REPLIES: Final[Mapping[str, str]] = {
    "greeting": "Hello! I am Jackdaw, and I answer from your own files.",
    "how are you": "All is well here, thank you. I am Jackdaw, and glad to help with your files.",
    "thanks": "You're welcome! I am glad to help.",
    "praise": "Thank you, that is kind. I am glad to help.",
    "apology": "No problem at all, no harm done.",
    "good night": "Good night, sleep well! I keep reading what changes in your folders.",
    "low": "I am sorry to hear that. I am only a program, and I hope that it gets better soon.",
    "glad": "I am glad to hear that!",
    "not in files": (
        "Then I say so: I answer only from your files, and say that I found nothing where they do not hold the answer."
    ),
    "farewell": "Goodbye! I keep reading what changes in your folders.",
    "agreement": "All right, I am here. Ask me anything about your files.",
    "who are you": (
        "I am Jackdaw, an assistant for your own files: a program on this device, not a person. A jackdaw is a small "
        "clever bird that collects things. I answer from your "
        "notes, mails, chats and calendars, and show where each answer comes from."
    ),
    "what can you do": "I answer questions from your own files and show my sources, search them, and list your events.",
    "help": (
        "Ask in your own words, or search: `jackdaw search WORDS`, `/search` in the app. Filters narrow a question: "
        "`from:NAME`, `in:FOLDER`, `kind:mail`, `after:2026-03`. All commands: `jackdaw --help`, or `/` in the app."
    ),
    "how to add": ADD,
    "how many files": "",
    "files safe": "No. I only read your files: I never change, move or delete them; I keep a store of my own.",
    "private": PRIVATE,
    "offline": (
        "I run on this device and need no internet and no account. A companion server is optional: `jackdaw status` "
        "says whether one is connected."
    ),
    "which model": (
        "`jackdaw models` lists the language models, marks the one in use, and names larger ones: "
        "`jackdaw models use NAME`. Answers like this one need no model."
    ),
    "version": "",
    "forget": (
        "To make me forget a file or folder: `jackdaw knowledge remove PATH`; conversations: `jackdaw history delete`. "
        "Your own files stay as they are."
    ),
    "joke": (
        "I know no jokes of my own, but your files may hold some: `jackdaw search funny`. I am a small clever bird "
        "that collects things, and finds them again."
    ),
    "insult": (
        "I am sorry that I was no help. If an answer was wrong, say so with `jackdaw wrong`; a larger model often "
        "answers better: `jackdaw models`."
    ),
    "cannot": (
        "I cannot do that: I answer from your own files and search them. I set no reminders, change no calendars, send "
        "no messages, and do not browse the web."
    ),
    "languages": (
        "I read and answer in English. Search finds words of any language in your files; a larger model may answer in "
        "others: `jackdaw models`."
    ),
    "server": (
        "A companion server is optional: it adds public knowledge and a larger model. `jackdaw connect` pairs this "
        "device with one, and `jackdaw status` says whether one is connected."
    ),
    "wrong": (
        "I can be wrong: look at the sources. If an answer is, say so with `jackdaw wrong`, or `/wrong` in the app, "
        "and it is not shown again."
    ),
}
"""The reply to each topic of small talk; some replies are followed by facts about the files."""

_WITH_EXAMPLES: Final = frozenset[str](("greeting", "how are you", "who are you", "what can you do", "help"))


@dataclass(frozen=True, slots=True)
class Talk:
    """Replies to small talk and to questions about the program."""

    store: KnowledgeStore
    examples: Callable[[datetime], Iterator[str]]
    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the reply; None if the text is about anything else."""
        if asked.query.is_limited or not (topic := talk.topic(asked.text)):
            return None
        parts = [REPLIES[topic]]
        if topic == "version":
            from importlib.metadata import version  # only this reply needs it, and its import takes long

            parts.append(f"This is Jackdaw {version('jackdaw')}. `jackdaw --version` says so too.")
        items: list[Item] = []
        if topic == "how many files":
            items = [CountItem(kind, count) for kind, count in self.store.kinds().items()]
            parts.append(self._holdings())
        if topic in _WITH_EXAMPLES:
            parts.append(self._teaching(asked.now))
        return Ruled("\n\n".join(filter(None, parts)), f"talk · {topic}", items)

    def _holdings(self) -> str:
        totals = self.store.totals()
        if not totals.files:
            return f"I have not read any file yet. {ADD}"
        kinds = ", ".join(counted_kind(kind, count) for kind, count in self.store.kinds().items())
        skipped = f" {counted(totals.skipped, 'file')} could not be read." if totals.skipped else ""
        return f"I have read {counted(totals.files, 'file')}: {kinds}.{skipped} `jackdaw knowledge` lists them."

    def _teaching(self, now: datetime) -> str:
        if not (examples := list(self.examples(now))):
            return self._holdings()
        return "\n".join(("You could ask, for example:", "", *(f"- {example}" for example in examples)))


@dataclass(frozen=True, slots=True)
class CountItem(Item):
    """A kind of document, and the number of documents of that kind."""

    TYPE: ClassVar[str] = "count"
    kind: str
    count: int
