"""The assistant's output: the events of an answer, and the record that is printed, kept and served again."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from device_app.question.abstention import not_told
from device_app.question.evidence import Evidence, Support
from device_app.question.files import Stale
from shared.printable import counted, safe_line
from shared.trace import Trace
from shared.types import Hit, StoredPassage

SNIPPET_CHARACTERS = 240

_QUERY, _QUERIES = 80, 3
"""The limits for showing a round of retrieval on the server: characters of a query, and queries of the round."""

Origin = Literal["qa_bank", "rule", "device", "cloud", "migrated", "aggregated"]

NOTHING_FOUND = "I found nothing about that in your files."
NOTHING_ANYWHERE = "I found nothing about that in your files, nor did the server (to ask a model alone: --model-only)."
NOT_FOLLOWED = "A follow-up question is never sent to a server. Ask the question in full."
NOT_NAMED = "The question may name a filter, file or folder of yours, so no server was asked. Ask without that name."

MODEL_ONLY = "from the model alone: no source"
"""The line below an answer that a model wrote without files and passages."""

UNDERSTOOD = "understood as:"
"""The label before the words that say how a rule read the question."""

QUOTED = "✓ quoted from your files"
"""The line below an answer that is quoted."""

NEAREST_SENTENCE = "nearest sentence:"
"""The label of the sentence nearest to an answer, if no sentence proves the answer."""

UNSUPPORTED = "The sources do not support this answer: it may be a guess."
"""The line below a model's text that was shown while it was written, and turned out to be unsupported."""

GUESS = "the model's guess, of which it is not sure, or which no source proves:"
"""The label of the model's text if the text is not shown as an answer."""

AT = "the server at "
"""The beginning of the reason why a server did not contribute; the server's host follows."""

APART = "it was not written together: "
WENT_ON = "this device wrote alone"
"""The beginnings of the sentences that say why the server contributed less than the person asked for."""


@dataclass(frozen=True, slots=True)
class Found:
    """An event: the passages that the answer is written from, best first; sent again when more are read."""

    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class Wrote:
    """An event: a piece of the answer's text was written."""

    text: str


@dataclass(frozen=True, slots=True)
class LookedUp:
    """An event: a round of retrieval on the server: its pipeline, queries and passages' ids, sanitised for display."""

    pipeline: str
    queries: tuple[str, ...]
    passages: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the round as an entry of `trace.rounds` of `ask --json`."""
        return {"pipeline": self.pipeline, "queries": list(self.queries), "passages": list(self.passages)}


@dataclass(frozen=True, slots=True)
class Matched:
    """The earlier question whose kept answer is given: its text, its similarity (cosine), and when it was answered."""

    question: str
    similarity: float
    answered_at: str


@dataclass(frozen=True, slots=True)
class Egress:
    """The data that left the device for an answer: bytes on the wire, below TLS, and their contents in words."""

    bytes: int = 0
    items: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the `egress` object of `ask --json`."""
        return {"bytes": self.bytes, "items": list(self.items)}


@dataclass(slots=True)
class Ledger:
    """A record of the data that left the device for an answer, even for one that was never finished."""

    egress: Egress = Egress()

    def left(self, count: int, items: Iterable[str]) -> None:
        """Add `count` bytes that left the device, with a description of their contents; do nothing if `count` is 0."""
        if count:
            said = dict.fromkeys((*self.egress.items, *items))
            self.egress = Egress(self.egress.bytes + count, tuple(said))


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer. `found` is False if no passage was relevant enough to answer from.

    `abstained`: there is no answer, as nothing was found, the model wrote that the passages do not contain one, or the
    model's text (the `guess`) is unsupported; `hits` are then the nearest passages. `evidence` proves the answer;
    without a proof, `nearest` is the nearest sentence. `support` is None if no evidence was searched for. `matched` is
    set if the answer was kept before the question. `cut`: the limit `max_tokens` or the context ended the text.
    `decided` are the reasons for the choice of writer. `lacks` names the part of the question that the files do not
    answer, if no server was asked for it. `quoted`: the text is in the files' words, and no model wrote it. `stale` are
    files that have changed since they were read, or are gone. `model_hash` is that of this device's model and adapter.
    `marked_wrong`: it replaces an answer that was marked wrong. `typed` records the passages read while the question
    was typed, or is None. `model_only`: a model wrote it without files and passages. `dispatch` holds the facts that
    decided which side starts, see `Weighed.basis`. `understood` is how a rule read the question; `items` are the
    records behind its answer.
    """

    text: str
    hits: Sequence[Hit]
    evidence: Evidence | None
    trace: Trace
    model: str
    conversation_id: int = 0
    found: bool = True
    abstained: bool = False
    matched: Matched | None = None
    cut: bool = False
    support: Support | None = None
    written: Literal["rule", "device", "cloud", "migrated", "aggregated"] = "device"
    egress: Egress = Egress()
    decided: tuple[str, ...] = ()
    lacks: str = ""
    quoted: bool = False
    nearest: Evidence | None = None
    guess: str = ""
    stale: tuple[Stale, ...] = ()
    model_hash: str = ""
    marked_wrong: bool = False
    rounds: tuple[LookedUp, ...] = ()
    typed: dict[str, Any] | None = None
    model_only: bool = False
    dispatch: Mapping[str, Any] = field(default_factory=dict)
    understood: str = ""
    items: Sequence[Mapping[str, Any]] = ()

    @property
    def origin(self) -> Origin:
        """Where the answer comes from: device, server, both, or a cache; see `presentation.ORIGINS`."""
        return "qa_bank" if self.matched else self.written

    @property
    def written_by(self) -> str:
        """The model that wrote the answer, with its hash, so that a changed model has another name; "" for a quote."""
        return f"{self.model} {self.model_hash}".strip()

    def as_json(self) -> dict[str, Any]:
        """Return the object that `ask --json` prints."""
        return {
            "answer": self.text,
            "found": self.found,
            "abstained": self.abstained,
            "guess": self.guess,
            "marked_wrong": self.marked_wrong,
            "cut": self.cut,
            "quoted": self.quoted,
            "origin": self.origin,
            "understood": self.understood,
            "items": [dict(item) for item in self.items],
            "model_only": self.model_only,
            "sources": sources(self.hits, whole=self.abstained),
            "evidence": None if self.evidence is None else asdict(self.evidence),
            "nearest": None if self.nearest is None else asdict(self.nearest),
            "support": self.support,
            "lacks": self.lacks,
            "stale": [asdict(file) for file in self.stale],
            "cache": {
                "qa": {
                    "hit": self.matched is not None,
                    "similarity": self.matched and round(self.matched.similarity, 4),
                    "matched": self.matched and self.matched.question,
                    "answered_at": self.matched and self.matched.answered_at,
                },
                "kv": {
                    "segments_cached": self.trace.segments_cached,
                    "tokens_cached": self.trace.tokens_cached,
                    "segments_moved": self.trace.segments_moved,
                    "tokens_moved": self.trace.tokens_moved,
                    "tokens_recomputed": self.trace.tokens_recomputed,
                    "tokens_prefilled": self.trace.tokens_prefilled,
                },
            },
            "trace": self.trace.as_json()
            | {"decided": list(self.decided), "rounds": [looked_up.as_json() for looked_up in self.rounds]}
            | ({"read_while_typing": self.typed} if self.typed else {})
            | ({"dispatch": dict(self.dispatch)} if self.dispatch else {}),
            "egress": self.egress.as_json(),
            "model": self.model,
            "model_hash": self.model_hash,
            "conversation": self.conversation_id,
        }


Event = Found | LookedUp | Wrote | Answer
Events = Generator[Event, None, None]
"""The events of a question, in order; the answer comes last."""


def fell_short(decided: Iterable[str]) -> Iterable[str]:
    """Yield those of the reasons that say why the server did not contribute; they are always shown."""
    return (reason for reason in decided if reason.startswith((APART, WENT_ON, AT)))


def looked_up_line(looked_up: Mapping[str, Any]) -> str:
    """Return a round of retrieval on the server as one line for a person: long queries and long lists are cut."""
    queries = [safe_line(query) for query in looked_up["queries"]]
    shown = [f"“{query if len(query) <= _QUERY else query[: _QUERY - 1] + '…'}”" for query in queries[:_QUERIES]]
    more = [f"{len(queries) - _QUERIES} more"] if len(queries) > _QUERIES else []
    passages = counted(len(looked_up["passages"]), "passage")
    return f"{safe_line(looked_up['pipeline'])}: looked up {', '.join((*shown, *more)) or 'nothing'} ({passages})"


def sources(hits: Sequence[Hit], *, whole: bool = False) -> list[dict[str, Any]]:
    """Return the `sources` of `ask --json`: the passages, numbered from 1.

    With `whole`, the passages' whole texts are included, because they are shown in place of an answer.
    """
    return [_source(number, hit, whole=whole) for number, hit in enumerate(hits, 1)]


def own_sources(record: Mapping[str, Any]) -> list[int]:
    """Return the ids of the sources that are stored on this device, from the record of a finished answer."""
    return [source["id"] for source in record["sources"] if source["side"] == "device"]


def written_by(record: Mapping[str, Any]) -> str:
    """Return the name and hash of the model that wrote an answer, from the answer's record."""
    return f"{record['model']} {record.get('model_hash', '')}".strip()


def hits_of(record: Mapping[str, Any], passages: Mapping[int, StoredPassage]) -> list[Hit]:
    """Return an answer's sources that still exist: the person's own from `passages`, a server's from its `record`."""
    return [
        _public(source)
        if source["side"] == "server"
        else Hit(passages[source["id"]], source["score"], source["similarity"])
        for source in record["sources"]
        if source["side"] == "server" or source["id"] in passages
    ]


def evidence_of(record: Mapping[str, Any], key: Literal["evidence", "nearest"] = "evidence") -> Evidence | None:
    """Return the sentence that proves an answer, or the nearest one, from the answer's record; None if it has none."""
    return Evidence(**record[key]) if record.get(key) else None


def unsupported(answer: Answer, hits: Sequence[Hit]) -> Answer:
    """Turn an unsupported answer into an abstention with the passages `hits`; the answer's text becomes the guess."""
    return replace(answer, text=not_told(hits), hits=hits, guess=answer.text, abstained=True, support="none", cut=False)


def _public(source: Mapping[str, Any]) -> Hit:
    from shared.protocol.messages import PublicPassage  # only answers with a server's passages need it
    from shared.public import hit as public_hit

    public = {name: source[name] for name in ("id", "title", "path", "text", "similarity", "score")}
    return public_hit(PublicPassage(**public))


def _source(number: int, hit: Hit, *, whole: bool) -> dict[str, Any]:
    passage = hit.passage
    snippet = " ".join(passage.text.split())
    if len(snippet) > SNIPPET_CHARACTERS:
        snippet = snippet[: SNIPPET_CHARACTERS - 1] + "…"
    return {
        "id": passage.id,
        "number": number,
        "path": passage.path,
        "line": passage.line,
        "page": passage.page,
        "date": passage.date,
        "title": passage.title,
        "copies": [copy.path for copy in hit.copies],
        "snippet": snippet,
        **({"text": passage.text} if whole or hit.side == "server" else {}),  # no server's passage is stored here
        "score": round(hit.score, 4),
        "similarity": round(hit.similarity, 4),
        "side": hit.side,
    }
