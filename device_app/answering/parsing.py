"""Parses a question into a request: what it follows on, whether it needs files, and why it stays on this device."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from device_app.answering.planner import AS_ASKED, NO_FILE
from device_app.english import given, intents, private, query
from device_app.english.following import is_follow_up
from device_app.english.query import Query
from device_app.knowledge import names
from device_app.knowledge.phone.sources import SOURCES
from device_app.knowledge.retriever import Retriever
from device_app.knowledge.thread import thread
from device_app.question.options import Options
from device_app.question.request import Request, embedding_of, search_query_of
from shared.prompt import Exchange
from shared.trace import Trace
from storage.conversations import ConversationStore


@dataclass(frozen=True, slots=True)
class Parser:
    """Parses questions about the files of one store; `clock` returns the moment with the person's time zone."""

    retriever: Retriever
    conversations: ConversationStore
    clock: Callable[[], datetime]

    def parse(self, question: str, options: Options, conversation: int | None, *, has_server: bool) -> Request:
        """Return the request for a question, with its conversation. Raises UsageError, StoreError.

        `has_server`: a server is connected and may be asked.
        """
        trace = Trace()
        model_only = _model_only(question, options)
        asked = query.whole(question) if model_only else query.parse(question, self.clock().date())
        stands_alone = options.send or (bool(model_only) and intents.stands_alone(question))
        earlier, search_query = self._thread(asked, options, None if stands_alone else conversation)
        local_only = "" if options.send else self._local_only(asked, conversation, has_server=has_server)
        if has_server and model_only and not (local_only or options.send):
            local_only = private.HOLDS_TEXT if given.may_hold_text(question) else self._names_known(asked)
        first, embed = has_server and self._has_phone(), embedding_of(asked, self.retriever.embedder)
        why = local_only, model_only
        return Request(asked, search_query, embed, options, earlier, *why, has_server, first, trace=trace)

    def _thread(self, asked: Query, options: Options, conversation: int | None) -> tuple[list[Exchange], Query]:
        """Return the earlier exchanges of a follow-up question, none for other questions, and the search query."""
        if conversation is None or not is_follow_up(asked):
            return [], search_query_of(asked, options)
        return thread(asked, self.conversations.turns(conversation), self.clock().date())

    def _names_known(self, asked: Query) -> str:
        """Return why a request must stay on this device because of its names; "" if the files contain none of them."""
        is_known = names.holds_known_name(asked.text, self.retriever.keywords, self.retriever.store)
        return private.NAMES_KNOWN if is_known else ""

    def _local_only(self, asked: Query, conversation: int | None, *, has_server: bool) -> str:
        """Return why the question must stay on this device; "" if a server may be asked."""
        follows = (
            conversation is not None and private.may_follow(asked) and bool(self.conversations.turns(conversation))
        )
        reason = private.reason(asked, follows, self.retriever.store.has_path)
        return reason or (private.ON_PHONE if has_server and self._is_about_phone(asked) else "")

    def _has_phone(self) -> bool:
        """Return whether anything was read from a phone."""
        return any(self.retriever.store.file(source.path) for source in SOURCES.values())

    def _is_about_phone(self, asked: Query) -> bool:
        """Return whether the question may be about data from a phone; False if none was read."""
        if not self._has_phone():
            return False
        return private.may_be_about_phone(asked.text, self.retriever.people.directory.names_from_phone())


def _model_only(question: str, options: Options) -> str:
    """Return why a model answers the question without files; "" if the files are searched for an answer first."""
    if options.model_only and not options.send:
        return AS_ASKED
    is_for_passages = options.together or bool(options.pipeline)
    if not is_for_passages and intents.needs_no_file(question):
        return NO_FILE
    return AS_ASKED if options.model_only else ""
