"""Read-only queries on the caches' contents and savings, for display: by day, by words, by passage, one page at a
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from storage.conversations import WITH_FILES
from storage.database import Database, folded
from storage.passages import show


@dataclass(frozen=True, slots=True)
class Day:
    """Cache statistics of one local day (YYYY-MM-DD). `hits` are questions answered from the cache; `ms_saved`
    estimates the time saved.

    `tokens_joined` came from cached KV states; `tokens_prefilled` were computed.
    """

    day: str
    questions: int
    hits: int
    ms_saved: float
    tokens_joined: int
    tokens_prefilled: int


@dataclass(frozen=True, slots=True)
class StatesTotals:
    """The totals of the cache of KV states: slices (each holds the state of one part of a prompt), distinct passages,
    tokens and bytes.
    """

    slices: int
    passages: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PassageStates:
    """The cached KV states of one passage, over all its positions in prompts. Passage 0 stands for the instructions.

    `slices` (cached states, one for each place of the passage in a prompt), `tokens` and `uses` are counts; `size` is
    in bytes; times are ISO 8601, UTC. `title` and `path` are None if the passage is gone.
    """

    passage: int
    slices: int
    tokens: int
    size: int
    uses: int
    created_at: str
    used_at: str
    title: str | None
    path: bytes | None

    @property
    def shown(self) -> str:
        """The passage's path as text; "" without a path."""
        return show(self.path) if self.path else ""


@dataclass(frozen=True, slots=True)
class CacheRecords:
    """Queries on the caches of one database."""

    database: Database

    def days(self, since: str) -> list[Day]:
        """Return the statistics of each day from `since` (YYYY-MM-DD) on that has any, the oldest day first."""
        rows = self.database.execute(_DAYS, (since,))
        return [
            Day(day, int(questions), int(hits), ms, int(joined), int(prefilled))
            for day, questions, hits, ms, joined, prefilled in rows
        ]

    def states_totals(self) -> StatesTotals:
        """Return the totals of the KV state cache."""
        rows = self.database.execute(
            "SELECT COUNT(*), COUNT(DISTINCT COALESCE(passage_id, 0)), COALESCE(SUM(tokens), 0), "
            "COALESCE(SUM(bytes), 0) FROM kv_slices"
        )
        return StatesTotals(*rows[0])

    def unanswered(self, fingerprint: str) -> int:
        """Return how many questions with the given fingerprint (`Entry.fingerprint`) wait for a first or a new
        answer.
        """
        rows = self.database.execute(
            "SELECT COUNT(*) FROM qa_entries WHERE recipe = ? AND ((answer IS NULL AND record = '{}') OR stale)",
            (fingerprint,),
        )
        return int(rows[0][0])

    def entries(self, words: str = "") -> list[int]:
        """Return the ids of cached questions that contain all the given words, in the question or its answer; most used
        first.
        """
        condition, parameters = _holding("question || ' ' || COALESCE(answer, '')", words)
        rows = self.database.execute(
            f"SELECT id FROM qa_entries WHERE {condition} ORDER BY uses DESC, used_at DESC, id DESC", parameters
        )
        return [row[0] for row in rows]

    def most_used(self, limit: int) -> list[dict[str, Any]]:
        """Return the `limit` most used questions as `jackdaw cache list --json` prints them; `failed` is why there is
        no answer, None if there is one or the question waits.
        """
        rows = self.database.rows(
            "SELECT question, answer, origin, stale, uses, answered_at, json_extract(record, '$.failed') AS failed "
            "FROM qa_entries ORDER BY uses DESC, id LIMIT ?",
            (limit,),
        )
        return [row | {"stale": bool(row["stale"])} for row in rows]

    def predicted(self, fingerprint: str, limit: int) -> list[int]:
        """Return at most `limit` ids of questions with the given fingerprint (`Entry.fingerprint`) that were predicted
        and answered, but never asked; the latest first.
        """
        rows = self.database.execute(
            "SELECT id FROM qa_entries WHERE origin = 'predicted' AND recipe = ? AND answer IS NOT NULL AND NOT stale "
            "AND NOT uses ORDER BY id DESC LIMIT ?",
            (fingerprint, limit),
        )
        return [row[0] for row in rows]

    def predictions(self) -> list[tuple[str, str, int]]:
        """Return each question that was predicted and answered: its text, the time of the answer (ISO 8601, UTC), and
        its uses.
        """
        rows = self.database.execute(
            "SELECT question, answered_at, uses FROM qa_entries WHERE origin = 'predicted' AND answer IS NOT NULL"
        )
        return [(question, answered_at, uses) for question, answered_at, uses in rows]

    def asked_at(self) -> list[str]:
        """Return the times of all questions that were answered with files, in order (ISO 8601, UTC)."""
        return [row[0] for row in self.database.execute(f"SELECT asked_at FROM turns WHERE {WITH_FILES} ORDER BY 1")]

    def asked(self, questions: Sequence[str]) -> dict[str, int]:
        """Return those of the given questions that have an answer, each with the id of its newest answered entry."""
        marks = ", ".join("?" * len(questions))
        rows = self.database.execute(
            f"SELECT question, MAX(id) FROM qa_entries WHERE question IN ({marks}) AND answer IS NOT NULL "
            "GROUP BY question",
            questions,
        )
        return dict(rows)

    def vectors(self, entries: Sequence[int]) -> dict[int, bytes]:
        """Return the questions' vectors, float32 little-endian, by entry id; entries that are gone are left out."""
        marks = ", ".join("?" * len(entries))
        rows = self.database.execute(f"SELECT entry_id, vector FROM qa_vectors WHERE entry_id IN ({marks})", entries)
        return dict(rows)

    def passages(self, words: str = "") -> list[int]:
        """Return the ids of the passages with cached states whose title, path and text together contain all the words,
        the most used first. Id 0 stands for the instructions.
        """
        searched = "COALESCE(title, '') || ' ' || folded(COALESCE(path, x'')) || ' ' || COALESCE(text, '')"
        condition, parameters = _holding(searched, words)
        rows = self.database.execute(
            f"SELECT {_PASSAGE} FROM {_STATES} WHERE {condition} GROUP BY 1 ORDER BY SUM(uses) DESC, MAX(used_at) DESC",
            parameters,
        )
        return [row[0] for row in rows]

    def states(self, passages: Sequence[int]) -> dict[int, PassageStates]:
        """Return the facts about cached KV states by passage id; passages without states are left out."""
        marks = ", ".join("?" * len(passages))
        rows = self.database.execute(
            f"SELECT {_PASSAGE}, COUNT(*), SUM(tokens), SUM(bytes), SUM(uses), MIN(created_at), MAX(used_at), title, "
            f"path FROM {_STATES} WHERE {_PASSAGE} IN ({marks}) GROUP BY 1",
            passages,
        )
        return {row[0]: PassageStates(*row) for row in rows}

    def served(self, passage: int, limit: int) -> list[str]:
        """Return at most `limit` cached questions whose answer was written from the passage with the id `passage`, the
        most used first.
        """
        rows = self.database.execute(
            "SELECT question FROM qa_sources JOIN qa_entries ON id = entry_id WHERE passage_id = ? "
            "AND answer IS NOT NULL ORDER BY uses DESC, id DESC LIMIT ?",
            (passage, limit),
        )
        return [row[0] for row in rows]

    def passages_without_states(self) -> int:
        """Return how many passages have no cached state."""
        ((count,),) = self.database.execute(
            "SELECT (SELECT COUNT(*) FROM passages) - (SELECT COUNT(DISTINCT passage_id) FROM kv_slices "
            "WHERE passage_id IN (SELECT id FROM passages))"
        )
        return int(count)

    def passages_after(self, identity: int) -> int:
        """Return how many passages have a greater id than the given one, and are thus newer."""
        return int(self.database.execute("SELECT COUNT(*) FROM passages WHERE id > ?", (identity,))[0][0])

    def turns_after(self, identity: int) -> int:
        """Return how many questions were answered with files after the turn with the given id."""
        rows = self.database.execute(f"SELECT COUNT(*) FROM turns WHERE {WITH_FILES} AND id > ?", (identity,))
        return int(rows[0][0])


_PASSAGE = "COALESCE(passage_id, 0)"
_STATES = (
    "kv_slices LEFT JOIN passages ON passages.id = passage_id LEFT JOIN documents ON documents.id = document_id "
    "LEFT JOIN files ON files.id = file_id"
)
_DAYS = """
SELECT day, SUM(value * (name = 'questions')), SUM(value * (name = 'qa_hits')), SUM(value * (name = 'qa_ms_saved')),
    SUM(value * (name = 'kv_tokens_saved')), SUM(value * (name = 'kv_tokens_computed'))
FROM cache_days WHERE day >= ? GROUP BY day ORDER BY day
"""


def _holding(text: str, words: str) -> tuple[str, list[str]]:
    parts = folded(words).split()
    return " AND ".join([f"instr(folded({text}), ?) > 0"] * len(parts)) or "TRUE", parts
