"""Gathers what this device knows of a question for the planner: a rule's answer, a saved answer, passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from device_app.answering.sources.source import MOST_ATTEMPTS
from device_app.answering.state import Joint, Kept, Retrieved, State
from device_app.cache.answers.bank import Considered, QABank, scope
from device_app.cache.answers.wrong import is_wrong
from device_app.english import beyond, private
from device_app.english.query import Query
from device_app.english.wording import normal
from device_app.everyday.rule import Asked, Everyday, Ruled
from device_app.inference.sureness import LOOKED_THROUGH
from device_app.knowledge.freshness import Freshness
from device_app.knowledge.phone.sources import passage_is_of_phone
from device_app.knowledge.retriever import Retriever
from device_app.question.abstention import NEAREST_SHOWN
from device_app.question.answer import own_sources
from device_app.question.request import Request
from shared.types import Hit
from storage.passages import show
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
    bank: QABank
    everyday: Everyday
    freshness: Freshness | None
    clock: Callable[[], datetime]

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
        from device_app.answering import quoting  # its imports take long, and kept answers do without

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


def is_marked(ruled: Ruled, asked: Query, wrong: WrongAnswers) -> bool:
    """Return whether the person marked a rule's answer to the question as wrong."""
    marks = [mark for mark in wrong.holding(scope(asked)) if normal(mark.question) == normal(asked.text)]
    return is_wrong(ruled.text, "", marks)
