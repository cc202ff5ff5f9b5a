"""A question while it is being answered, with all facts found for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from device_app.english import discourse, outcomes
from device_app.question.answer import Ledger
from device_app.question.files import Looked
from device_app.question.typed import ReadWhileTyping
from shared.trace import Trace

if TYPE_CHECKING:
    from device_app.english.query import Query
    from device_app.question.options import Options
    from models.engine import Embedder
    from shared.prompt import Exchange
    from storage.qa_entries import Origin
    from storage.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Request:
    """A question while it is being answered. `query` is the question, `search_query` the query for retrieval.

    `search_query` is the question, extended with `earlier` exchanges, or the subject of a quote. `embed` computes the
    question's embedding when it is first needed, as a rule may answer without it. `local_only` says, for the person,
    why the question must stay on this device; "" if a server may be asked. `model_only` says, for the person, why a
    model answers without files; "" if the files are asked first. `has_server`: a server is connected and may be asked.
    `retrieves_first`: nothing may leave before the passages are known, as messages or calls of a phone may be among
    them. `origin` says for whom the answer is prepared; without `decode`, only its attention states are computed.
    `trace`, `ledger` and `looked` record the work, the data that left the device, and the state of the files; `typed`
    records the passages read before the question was sent.
    """

    query: Query
    search_query: Query
    embed: Callable[[], Vectors]
    options: Options
    earlier: Sequence[Exchange] = ()
    local_only: str = ""
    model_only: str = ""
    has_server: bool = False
    retrieves_first: bool = False
    origin: Origin = "asked"
    decode: bool = True
    trace: Trace = field(default_factory=Trace)
    ledger: Ledger = field(default_factory=Ledger)
    looked: Looked = field(default_factory=Looked)
    typed: ReadWhileTyping = field(default_factory=ReadWhileTyping)

    @property
    def vector(self) -> Vectors:
        """The question's embedding, computed on first use."""
        return self.embed()

    @property
    def is_follow_up(self) -> bool:
        """Whether the question is a follow-up, which is read together with earlier questions and answers."""
        return bool(self.earlier)

    @property
    def is_quotable(self) -> bool:
        """Whether the question asks what was said about a subject, for which the files can be quoted."""
        return not self.is_follow_up and self.search_query != self.query

    @property
    def uses_rules(self) -> bool:
        """Whether a rule may answer: not if the person wants a model or a server to write the answer."""
        options = self.options
        return not (options.model_only or options.send or options.together or options.pipeline)

    @property
    def uses_kept(self) -> bool:
        """Whether an answer kept from earlier may be given; not if the files are quoted, which is as fast, and up to
        date.
        """
        options = self.options
        return not (options.fresh or options.together or options.pipeline) and self.search_query == self.query

    @property
    def begins_jointly(self) -> bool:
        """Whether a server is asked for a joint answer before the files are searched: it searches meanwhile."""
        may_ask = self.has_server and not self.local_only and not self.retrieves_first
        return self.options.together and may_ask and not self.model_only

    @property
    def server_begins(self) -> bool:
        """Whether this device's model is too small to write the answer to this request, which needs no file."""
        on_purpose = self.options.model_only and not self.options.send
        return bool(self.model_only and self.options.unsuited) and not on_purpose

    @property
    def may_fetch(self) -> bool:
        """Whether a server may be asked, unrequested, for information that the files lack."""
        return self.has_server and self.options.reach != "asked"


def quotable_subject(asked: Query) -> Query | None:
    """Return the query for the subject of a question that the files can be quoted for; None for any other question."""
    if meeting := outcomes.asked_for(asked.text):
        return replace(asked, text=meeting.meeting)
    if said := discourse.said_by(asked.text):
        return replace(asked, text=said.query, days=())  # a day that was spoken about is not when that was
    about = discourse.subject(asked.text)
    return replace(asked, text=about) if about else None


def search_query_of(asked: Query, options: Options) -> Query:
    """Return the query for retrieval: the question's subject if the files are to be quoted, else the question."""
    return (options.plan.summaries == "quoted" and quotable_subject(asked)) or asked


def embedding_of(asked: Query, embedder: Embedder) -> Callable[[], Vectors]:
    """Return a function that computes the question's embedding on its first call."""
    return cache(lambda: embedder.embed([asked.text])[0])


@dataclass(frozen=True, slots=True)
class Prepared:
    """The result of preparing a question ahead of time.

    `abstained`: its passages hold no answer. `at_once`: nothing was prepared, as the files will be quoted, or a rule
    will answer. `marked_wrong`: the model wrote an answer that was marked wrong.
    """

    trace: Trace
    abstained: bool = False
    at_once: bool = False
    marked_wrong: bool = False
