"""The baselines' substitutes for the app's two caches: the QA bank, which caches answers, and the cache of KV states,
which is a tree of prompt parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from device_app.cache.answers.bank import CANDIDATES, Considered, QABank
from device_app.cache.states.tree import QKVTree
from device_app.english.query import Query
from shared.prompt import Segment
from storage.qa_entries import Origin
from storage.vectors import Vectors


@dataclass(frozen=True)
class SimilarityBank(QABank):
    """A cache of answers (QA bank) that serves by cosine alone, and caches only answers to questions of the given
    origins.
    """

    keeps: tuple[Origin, ...] = ()

    def put(self, query: Query, vector: Vectors, fingerprint: str, origin: Origin, **answer: object) -> None:
        """Cache an answer, if this bank caches answers to questions of the given origin."""
        if origin in self.keeps:
            super().put(query, vector, fingerprint, origin, **answer)  # type: ignore[arg-type]

    def consider(
        self,
        query: Query,  # noqa: ARG002
        vector: Vectors,
        fingerprint: str,  # noqa: ARG002
        *,
        more: bool = False,  # noqa: ARG002
    ) -> Iterator[Considered]:
        """Yield the most similar entries; every answered entry with a cosine above the threshold may be served."""
        cosines = self.vectors.cosines(vector)
        ids = cosines.best(CANDIDATES)
        entries = self.entries.get(ids.tolist())
        for identity, cosine in zip(ids.tolist(), cosines.of(ids).tolist(), strict=True):
            entry = entries[identity]
            serves = entry.answer is not None and cosine >= self.threshold
            yield Considered(entry, cosine, serves, "similar" if serves else "not similar enough, or not answered yet")


@dataclass(frozen=True)
class BoundTree(QKVTree):
    """A cache of KV states (a tree of prompt parts) that keeps the passages in the order in which they were
    retrieved.
    """

    def order(self, kv_key: str, root: Sequence[Segment], passages: Sequence[Sequence[Segment]]) -> list[int]:  # noqa: ARG002
        """Return the passages unchanged, in the order in which they were retrieved."""
        return list(range(len(passages)))
