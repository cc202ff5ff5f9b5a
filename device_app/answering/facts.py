"""Gathers what this device knows of a question for the planner: the request, a rule's or a saved answer, passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from device_app.answering import quoting
from device_app.answering.generation import MOST_ATTEMPTS
from device_app.answering.planner import AS_ASKED, NO_FILE
from device_app.answering.state import Joint, Kept, Retrieved, State
from device_app.cache.answers.bank import Considered, QABank, scope
from device_app.cache.answers.wrong import is_wrong
from device_app.english import beyond, given, intents, private, query
from device_app.english.following import is_follow_up
from device_app.english.query import Query
from device_app.english.wording import normal
from device_app.everyday.rule import Asked, Everyday, Ruled
from device_app.inference.sureness import LOOKED_THROUGH
from device_app.knowledge import names
from device_app.knowledge.freshness import Freshness
from device_app.knowledge.phone.sources import SOURCES, passage_is_of_phone
from device_app.knowledge.retriever import Retriever
from device_app.knowledge.thread import thread
from device_app.question.abstention import NEAREST_SHOWN
from device_app.question.answer import own_sources
from device_app.question.options import Options
from device_app.question.request import Request, search_query_of
from shared.prompt import Exchange
from shared.trace import Trace
from shared.types import Hit
from storage.conversations import ConversationStore
from storage.passages import show
from storage.vectors import Vectors
from storage.wrong_answers import WrongAnswers

_CITED: Final = max(MOST_ATTEMPTS, LOOKED_THROUGH, NEAREST_SHOWN)
"""The most passages that an answer may cite, although the model reads fewer at first."""

_REPEATED: Final = 4
"""How often a search is repeated at most: after changed files were read again, it may return passages of other changed
files.
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """Gathers facts for the planner. Without `freshness`, files are assumed to be unchanged; `clock`
    returns the moment with the person's time zone. Raises StoreError."""

    retriever: Retriever
    conversations: ConversationStore
    bank: QABank
    everyday: Everyday
    freshness: Freshness | None
    clock: Callable[[], datetime]

    def request(self, question: str, options: Options, conversation: int | None, *, has_server: bool) -> Request:
        """Parse a question and return the request, with its conversation. Raises UsageError.

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
        first, embed = has_server and self._has_phone(), self.embedded(asked)
        why = local_only, model_only
        return Request(asked, search_query, embed, options, earlier, *why, has_server, first, trace=trace)

    def embedded(self, asked: Query) -> Callable[[], Vectors]:
        """Return a function that computes the question's embedding on its first call."""

        @cache
        def embed() -> Vectors:
            vector: Vectors = self.retriever.embedder.embed([asked.text])[0]
            return vector

        return embed

    def gathered(self, request: Request, joint: Joint | None = None) -> State:
        """Return what this device knows of the question, looked up only until it is answered: the answer of a rule, a
        kept answer, the nearest passages.

        A request that needs no file gets neither of the last two. With a `joint` answer, nothing is quoted.
        """
        ruled = self.ruled(request) if request.uses_rules else None
        if ruled or request.model_only:
            return State(ruled, joint=joint)
        kept = self.kept(request) if request.uses_kept else None
        if kept and kept.serving:
            return State(kept=kept, joint=joint)
        is_joint = joint is not None and not joint.refused
        return State(kept=kept, joint=joint, retrieved=self.retrieved(request, quotes=not is_joint))

    def ruled(self, request: Request) -> Ruled | None:
        """Return the answer of a rule, if one understands the question and its answer is not marked as wrong."""
        has_before = request.earlier and not request.search_query.is_limited  # filters of the earlier question hold
        before = request.earlier[0].question if has_before else ""
        while True:
            with request.trace.step("look up"):
                gone = frozenset(map(show, request.looked.gone))
                ruled = self.everyday.answer(Asked(request.query, self.clock(), gone, before))
                if not ruled or is_marked(ruled, request.query, self.bank.wrong):
                    request.embed()  # from here on, it is always needed
                    return None
            if not self.freshness or not self._has_news(ruled, request, self.freshness):
                return ruled

    @staticmethod
    def _has_news(ruled: Ruled, request: Request, freshness: Freshness) -> bool:
        """Check the files that the rule's answer is based on; return whether the rule may now answer differently."""
        looked_through = freshness.look_at(ruled.files, request.looked, request.trace, whole=True)
        cited = freshness.look([source.id for source in ruled.sources], request.looked, request.trace)
        return looked_through or cited

    def kept(self, request: Request) -> Kept:
        """Return the saved answer to serve, after checking the files it cites and rereading those that changed."""
        while True:
            with request.trace.step("look up"):
                serving = self.bank.find(
                    request.query, request.vector, request.options.fingerprint, more=request.may_fetch
                )
            if not serving or not self.freshness:
                return Kept(serving)
            cited = own_sources(serving.entry.record)
            if not self.freshness.look(cited, request.looked, request.trace):
                return Kept(None if self.freshness.are_gone(cited, request.looked) else serving)

    def similar(self, request: Request) -> Kept:
        """Return the saved answer to serve, without checking the files it cites, and all saved answers compared."""
        more, fingerprint = request.may_fetch, request.options.fingerprint
        similar: Sequence[Considered] = list(self.bank.consider(request.query, request.vector, fingerprint, more=more))
        return Kept(next((considered for considered in similar if considered.serves), None), similar)

    def retrieved(self, request: Request, *, quotes: bool = True) -> Retrieved:
        """Return the nearest passages of the files, which are read again if changed.

        Also return the question's words that the files lack and, with `quotes`, sentences quoted from the passages.
        """
        options = request.options
        newest, hits = self._nearest(request)
        passages = [hit.passage for hit in hits]
        words = beyond.words(request.search_query, passages, self.retriever.keywords) if passages else []
        missing = f"your files say nothing of {' and '.join(f'“{word}”' for word in words[:3])}" if words else ""
        quoted = quoting.chosen(request, hits, self.retriever, self.clock().date()) if hits and quotes else None
        is_on_phone = any(passage_is_of_phone(hit.passage) for hit in hits[: max(options.plan.passages, _CITED)])
        local_only = private.ON_PHONE if is_on_phone and not options.send else ""
        return Retrieved(hits, missing, quoted, newest, local_only)

    def _nearest(self, request: Request) -> tuple[int, Sequence[Hit]]:
        """Return the passages nearest to the search query, after the id of the newest passage stored before the search.

        Their files are checked, and read again if changed.
        """
        options, search_query, looked = request.options, request.search_query, request.looked
        is_asked = search_query == request.query
        known = request.vector if is_asked else None
        searches = 0
        while True:
            newest = self.retriever.store.newest_passage()
            gone = self.retriever.store.passages_in(looked.gone) if looked.gone else None
            with request.trace.step("retrieve"):
                count = max(options.plan.passages, beyond.NEAR)
                hits = self.retriever.search(search_query, count, options.relevance, known, gone)
            searches += 1
            if not self.freshness or searches > _REPEATED:
                return newest, hits
            # Where the files are quoted, the answer may cite any passage.
            cited = hits[: max(options.plan.passages, _CITED)] if is_asked else hits
            ids = [passage.id for hit in cited for passage in (hit.passage, *hit.copies)]
            if not self.freshness.look(ids, looked, request.trace):
                return newest, hits

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


def is_marked(ruled: Ruled, asked: Query, wrong: WrongAnswers) -> bool:
    """Return whether the person marked a rule's answer to the question as wrong."""
    marks = [mark for mark in wrong.holding(scope(asked)) if normal(mark.question) == normal(asked.text)]
    return is_wrong(ruled.text, "", marks)


def _model_only(question: str, options: Options) -> str:
    """Return why a model answers the question without files; "" if the files are searched for an answer first."""
    if options.model_only and not options.send:
        return AS_ASKED
    is_for_passages = options.together or bool(options.pipeline)
    if not is_for_passages and intents.needs_no_file(question):
        return NO_FILE
    return AS_ASKED if options.model_only else ""
