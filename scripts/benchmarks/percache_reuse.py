"""How kept states are used again: exactly, blended into any prompt, or in rows; and which one a forecast would choose.

Three passages a question, each read ahead, so kept behind the instructions. `SET.ARM`: `kl` is the divergence of the
first token's distribution from the exact one, `agreement` the F1 with the exact answer. `SET.from_exact.ARM` holds the
paired differences in quality: mean, and the bounds of 95% of 10,000 resamplings of the questions. `SET.choice.POLICY`
are the means over three states of the cache: nothing kept, each passage read ahead, the very prompt kept.
"""

import statistics
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from device_app.cache.states.tree import QKVTree
from device_app.english.query import Query
from device_app.inference.local import forecast
from device_app.knowledge.retriever import Retriever
from models.catalog import find
from models.chat_template import parse
from models.decoder import mix
from models.embedder import OnnxEmbedder
from models.engine import Embedder, Engine, Logits
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.benchmarks.blending import BlendingSource
from scripts.benchmarks.percache_users import Asked, User, f1, rouge_l, users
from scripts.datasets.stores import filled, retriever_over
from scripts.places import step, weights
from shared.aggregation.weights import row_weights
from shared.ending import ended
from shared.prompt import ChatTemplate, Prompt, build
from shared.trace import Trace
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices

PASSAGES, MOST_TOKENS = 3, 48
QUESTIONS = {"lihuaworld": 20, "qmsum": 100}
QUICK_QUESTIONS = {"lihuaworld": 6, "qmsum": 7}
SHARES = (0.0, 0.1, 0.2, 0.4)
RESAMPLINGS = 10_000

Filled = Mapping[str, Sequence[tuple[User, KnowledgeStore]]]
"""The persons of each set, with a store that holds their documents."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Watched(BlendingSource):
    """A source that shows the rows' logits behind the prompt; with `recomputed` 1, all are exact."""

    first: list[Logits] = field(default_factory=list)

    def prefilled(self, prompt: Prompt, trace: Trace, tree: QKVTree | None) -> list[Logits]:
        """As the source's, and remembered."""
        self.first[:] = super().prefilled(prompt, trace, tree)
        return list(self.first)


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to answer from passages: in one prompt or in rows, cold or with what the tree keeps."""

    rows: bool = False
    cold: bool = False
    recomputed: float = 1.0


BLENDED = {f"blended_{share:.0%}".rstrip("%"): Mode(recomputed=share) for share in SHARES}
ARMS = {"cold": Mode(cold=True), "exact": Mode(), **BLENDED, "rows": Mode(rows=True)}

STATES = ("nothing", "read ahead", "prompt kept")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "exact_or_rows": ("exact", "rows"),
    "exact_or_blended_40": ("exact", "blended_40"),
    "any": ("exact", "blended_40", "rows"),
}


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one arm: its text, the log distribution of its first token, and where its time and tokens went."""

    text: str
    first: Scores
    trace: Trace
    total_ms: float

    @property
    def ttft_ms(self) -> float:
        """Until the first token."""
        return self.trace.first_token_ms or self.total_ms


@dataclass(frozen=True, slots=True)
class Case:
    """A question with every arm's answer, and by state of the cache and arm the ms to the first token and tokens."""

    asked: Asked
    answers: Mapping[str, Answered]
    begins: Mapping[str, Mapping[str, tuple[float, int]]]

    def total_ms(self, state: str, arm: str) -> float:
        """What the arm's answer takes in that state of the cache."""
        one = self.answers[arm]
        return self.begins[state][arm][0] + one.total_ms - one.ttft_ms


def run(arguments: Namespace) -> dict[str, Any]:
    """SET.ARM.{ttft_ms,total_ms,prefilled,recomputed,f1,rouge_l,agreement,kl}; SET.from_exact; SET.choice."""
    people = users(arguments.data)
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    engine = LlamaCppEngine(LlamaModel(folder.path(find("smollm2-135m"))), threads=arguments.threads)
    with tempfile.TemporaryDirectory() as place:
        stores: dict[str, list[tuple[User, KnowledgeStore]]] = {name: [] for name in people}
        for name, some in people.items():
            for user in some:
                step(f"filling the store of {user.name}")
                stores[name].append((user, filled(Path(place) / f"{user.name}.db", user.files, embedder)))
        template = parse(engine.info.chat_template, engine.info.bos)
        figures = measure(stores, engine, template, embedder, quick=arguments.quick)
    engine.close()
    return figures


def measure(
    stores: Filled, engine: Engine, template: ChatTemplate, embedder: Embedder, *, quick: bool
) -> dict[str, Any]:
    """The figures of every set."""
    figures = {}
    for name, some in stores.items():
        cases = []
        most = (QUICK_QUESTIONS if quick else QUESTIONS)[name]
        for user, store in some:
            retriever = retriever_over(store, embedder)
            with tempfile.TemporaryDirectory() as place:
                cases += _cases(user, -(-most // len(some)), retriever, Bench(engine, template, Path(place)))
        figures[name] = _figures(cases[:most])
    return figures


class Bench:
    """One engine and one tree, with which a question is answered in every mode."""

    def __init__(self, engine: Engine, template: ChatTemplate, folder: Path) -> None:
        database = Database(folder / "tree.db")
        self.template = template
        self.tree = QKVTree(KVSlices(database), Blobs(folder / "kv"), Counters(database), 1 << 40, "lru")
        self._engine = engine

    def source(self, mode: Mode) -> Watched:
        """A source that answers in the mode."""
        return Watched(self._engine, self.template, mode.recomputed)

    def answered(self, mode: Mode, prompt: Prompt, similarities: Sequence[float], most: int = MOST_TOKENS) -> Answered:
        """The answer to the prompt, whose passages stand apart."""
        source = self.source(mode)
        trace = Trace()
        if not mode.rows:
            order = [] if mode.cold else self.tree.order(self._engine.info.kv_key, prompt.head, prompt.passages)
            prompt, similarities = (prompt.ordered(order) if order else prompt).joined(), (1.0,)
        tree = None if mode.cold else self.tree
        stream = source.stream(
            prompt, SamplingSettings(), max_tokens=most, similarities=similarities, trace=trace, tree=tree
        )
        with closing(stream):
            text = "".join(piece.text for piece in ended(stream))
        first = mix(source.first, row_weights(similarities)).astype(np.float64)
        return Answered(text, first - np.logaddexp.reduce(first), trace, trace.elapsed_ms())


def _cases(user: User, most: int, retriever: Retriever, bench: Bench) -> list[Case]:
    """Every mode in turn for each question; the first question is asked twice, once to warm up."""
    asked = user.questions[:: max(1, len(user.questions) // most)][:most]
    cases = []
    for number, one in enumerate((asked[0], *asked)):
        step(f"{user.name}: question {number} of {len(asked)}")
        hits = retriever.search(Query(one.text), PASSAGES)
        prompt = build(one.text, [hit.passage for hit in hits], bench.template)
        similarities = [hit.similarity for hit in hits]
        bench.tree.clear()
        for hit in hits:
            bench.source(Mode()).prefill(build("", [hit.passage], bench.template), bench.tree)
        turn = number % len(ARMS)
        arms = [*list(ARMS)[turn:], *list(ARMS)[:turn]]
        answers = {arm: bench.answered(ARMS[arm], prompt, similarities) for arm in arms}
        cases.append(Case(one, answers, _begins(bench, answers, prompt, similarities)))
    return cases[1:]


def _begins(
    bench: Bench, answers: Mapping[str, Answered], prompt: Prompt, similarities: Sequence[float]
) -> dict[str, dict[str, tuple[float, int]]]:
    """First tokens in each state of the cache; those that are the same run in two states are timed once."""

    def begun(mode: Mode) -> tuple[float, int]:
        return _begun(bench.answered(mode, prompt, similarities, 1))

    cold, ahead = _begun(answers["cold"]), {arm: _begun(one) for arm, one in answers.items()}
    cold_rows = begun(Mode(rows=True, cold=True))
    bench.source(Mode()).prefill(prompt.joined(), bench.tree)
    kept, kept_rows = begun(Mode()), begun(Mode(rows=True))
    one_row = ("exact", *BLENDED)
    return {
        "nothing": {**dict.fromkeys(one_row, cold), "rows": cold_rows},
        "read ahead": ahead,
        "prompt kept": {**dict.fromkeys(one_row, kept), "rows": kept_rows},
    }


def _begun(answered: Answered) -> tuple[float, int]:
    return answered.ttft_ms, answered.trace.tokens_prefilled


def _figures(cases: Sequence[Case]) -> dict[str, Any]:
    quality = {arm: np.array([_quality(case, arm) for case in cases]) for arm in ARMS}
    others = [arm for arm in ARMS if arm not in ("cold", "exact")]
    return {
        "questions": len(cases),
        **{arm: _arm(arm, cases, quality[arm]) for arm in ARMS},
        "from_exact": {
            arm: {
                name: _difference(quality[arm][:, column], quality["exact"][:, column])
                for column, name in enumerate(("f1", "rouge_l"))
            }
            for arm in others
        },
        "choice": _choices(cases, quality),
    }


def _quality(case: Case, arm: str) -> tuple[float, float]:
    text = case.answers[arm].text
    return f1(text, case.asked.reference), rouge_l(text, case.asked.reference)


def _arm(arm: str, cases: Sequence[Case], quality: Scores) -> dict[str, float]:
    answers = _of(cases, arm)
    pairs = [(one, case.answers["exact"]) for one, case in zip(answers, cases, strict=True)]
    moved = sum(one.trace.tokens_moved for one in answers)
    again = sum(one.trace.tokens_recomputed for one in answers)
    return {
        "ttft_ms": round(statistics.median(one.ttft_ms for one in answers), 1),
        "total_ms": round(statistics.median(one.total_ms for one in answers), 1),
        "prefilled": round(statistics.mean(one.trace.tokens_prefilled for one in answers), 1),
        "recomputed": round(again / max(moved + again, 1), 3),
        "f1": round(float(quality[:, 0].mean()), 4),
        "rouge_l": round(float(quality[:, 1].mean()), 4),
        "agreement": round(statistics.mean(f1(one.text, right.text) for one, right in pairs), 4),
        "kl": round(statistics.mean(_divergence(right.first, one.first) for one, right in pairs), 4),
    }


def _divergence(right: Scores, other: Scores) -> float:
    """Kullback-Leibler, of log distributions; in nats."""
    return float((np.exp(right) * (right - other)).sum())


def _difference(one: Scores, other: Scores) -> list[float]:
    """Mean of the paired differences, and the bounds of 95% of its resamplings."""
    paired = one - other
    chance = np.random.default_rng(0).integers(0, paired.size, (RESAMPLINGS, paired.size))
    low, high = np.quantile(paired[chance].mean(axis=1), (0.025, 0.975))
    return [round(float(value), 4) for value in (paired.mean(), low, high)]


def _choices(cases: Sequence[Case], quality: Mapping[str, Scores]) -> dict[str, Any]:
    """Fixed modes; and for each question and state the mode that the app's forecast finds cheaper.

    `row_cost` is what that forecast takes a further row's decode for: tokens that might be prefilled meanwhile.
    """
    policies: dict[str, Sequence[str]] = {**{arm: (arm,) for arm in ARMS if arm != "cold"}, **CHOICES}
    chosen = {
        name: [[_cheapest(among, case.begins[state]) for state in STATES] for case in cases]
        for name, among in policies.items()
    }
    ms, f1s = {}, {}
    for name, picks in chosen.items():
        taken = [list(zip(STATES, row, strict=True)) for row in picks]
        ms[name] = np.array(
            [statistics.mean(case.total_ms(*pick) for pick in row) for case, row in zip(cases, taken, strict=True)]
        )
        f1s[name] = np.array(
            [statistics.mean(quality[arm][place, 0] for _, arm in row) for place, row in enumerate(taken)]
        )
    per_token = statistics.median(one.ttft_ms / one.trace.tokens_prefilled for one in _of(cases, "cold"))
    step, rows_step = (statistics.median(map(_step_ms, _of(cases, arm))) for arm in ("exact", "rows"))
    expected = statistics.mean(one.trace.tokens_decoded for one in _of(cases, "rows"))
    return {
        "row_cost": round((rows_step - step) / (PASSAGES - 1) * expected / per_token, 1),
        **{name: _policy(name, ms, f1s, among, chosen[name]) for name, among in policies.items()},
    }


def _cheapest(among: Sequence[str], begins: Mapping[str, tuple[float, int]]) -> str:
    return min(among, key=lambda arm: forecast(begins[arm][1], PASSAGES if ARMS[arm].rows else 1))


def _of(cases: Sequence[Case], arm: str) -> list[Answered]:
    return [case.answers[arm] for case in cases]


def _step_ms(answered: Answered) -> float:
    return (answered.total_ms - answered.ttft_ms) / max(answered.trace.tokens_decoded - 1, 1)


def _policy(
    name: str,
    ms: Mapping[str, Scores],
    f1s: Mapping[str, Scores],
    among: Sequence[str],
    chosen: Sequence[Sequence[str]],
) -> dict[str, Any]:
    figures: dict[str, Any] = {"mean_ms": round(float(ms[name].mean()), 1), "f1": round(float(f1s[name].mean()), 4)}
    if len(among) > 1:
        picks = [pick for row in chosen for pick in row]
        figures["chosen"] = {arm: round(picks.count(arm) / len(picks), 3) for arm in among}
        for arm in among:
            figures[f"from_{arm}"] = {
                "ms": _difference(ms[name], ms[arm]),
                "f1": _difference(f1s[name], f1s[arm]),
            }
    return figures
