"""How a question would be answered, without answering it: for `why`, for `ask --show-prompt`, and for work ahead."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from device_app import quoting
from device_app.assistant import Assistant
from device_app.cache.qa_bank import Considered
from device_app.dispatch.aggregating import Choice
from device_app.knowledge import query
from device_app.knowledge.query import Query
from device_app.options import Options
from shared.prompt import Prompt
from shared.types import Hit


class Foreseen(NamedTuple):
    """How a question would be answered: from the similar ones that are kept, if it `looks` among them; the passages
    that would be quoted where nothing is to be had of a server besides, none where a model would write; and those that
    would be read first.
    """

    similar: list[Considered]
    hits: Sequence[Hit]
    quoted: Sequence[Hit] = ()
    looks: bool = True


@dataclass(frozen=True, slots=True)
class Foresight:
    """Of what a room would do. Asks nobody, and writes nothing."""

    room: Assistant

    def why(self, question: str, options: Options) -> Foreseen:
        """What decides how a question would be answered. Loads no model. Raises UsageError, StoreError."""
        room, asked = self.room, query.parse(question, date.today())
        wanted = quoting.wanted(asked, options)
        if wanted == asked:
            vector = room.embedder.embed([asked.text])[0]
            similar = list(room.bank.consider(asked, vector, options.recipe, more=room.outside.looks(options)))
            return Foreseen(similar, room.retriever.search(asked, options.plan.passages, options.relevance, vector))
        near = room.retriever.search(wanted, room.outside.passages(options), options.relevance)
        quoted = quoting.quoted(asked, wanted, near, room.embedder)
        return Foreseen([], near[: options.plan.passages], quoted.hits if quoted else (), looks=False)

    def beyond(self, question: str, options: Options) -> tuple[str, Choice] | None:
        """What of a question the files lack, and how a server would be asked for it; None where it would not.

        Raises UsageError, StoreError.
        """
        asked, outside = query.parse(question, date.today()), self.room.outside
        if not (outside.public and options.public):
            return None
        wanted = quoting.wanted(asked, options)
        near = self.room.retriever.search(wanted, outside.passages(options), options.relevance)
        lacking = outside.lacking(wanted, near) if near else ""
        if not lacking:
            return None
        source = self.room.source()
        prompt, _ = self.room.prompt(source, asked.text, near[: options.plan.passages], options, ())
        return lacking, outside.choice(asked.text, source, prompt, options)

    def kept(self, question: str, hits: Sequence[Hit], options: Options) -> set[int]:
        """Ids of the passages whose states answering the question from these would join. Raises UsageError."""
        if not hits:
            return set()
        source = self.room.source()
        prompt, _ = self.room.prompt(source, query.parse(question, date.today()).text, hits, options, ())
        beginnings = ((row[:end], row[end - 1]) for row in prompt.passages for end in range(1, len(row) + 1))
        return {
            last.passage
            for beginning, last in beginnings
            if last.passage is not None and not source.missing(replace(prompt, passages=(beginning,)), self.room.tree)
        }

    def missing(self, asked: Query, options: Options) -> int:
        """Bytes that the attention states take which the tree lacks of a question's first prompt; about."""
        wanted = quoting.wanted(asked, options)
        hits: Sequence[Hit] = self.room.retriever.search(wanted, options.plan.passages, options.relevance)
        if not hits:
            return 0
        source = self.room.source()
        prompt, _ = self.room.prompt(source, asked.text, hits, options, ())
        return source.missing(prompt, self.room.tree)

    def prompt(self, question: str, options: Options, conversation: int | None = None) -> Prompt | None:
        """The prompt that would be answered first, if a model writes; None where nothing relevant is found.

        Raises UsageError, StoreError.
        """
        asked = query.parse(question, date.today())
        earlier, wanted = self.room.thread(asked, options, conversation)
        hits = self.room.retriever.search(wanted, options.plan.passages, options.relevance)
        return self.room.prompt(self.room.source(), asked.text, hits, options, earlier)[0] if hits else None
