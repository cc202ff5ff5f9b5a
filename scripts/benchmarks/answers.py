"""The quality and speed of the model's answers, with and without its adapter. Answers come from the best passage alone
(or the next one, if the first does not contain the answer), from three passages in one prompt, or from three prompts
with a passage each, whose next-token distributions are mixed. Also: whether the model abstains if the passages do not
contain the answer.

Passages are retrieved from a fictional person's sample files and from `xquad`, `nq_passages`, `lihuaworld` and `qmsum`
under --data. Only held-out questions are used; one in four is also asked in modes other than the model's own.
`contains`: the reference occurs in the answer; `f1`: word overlap (as in SQuAD); `rouge_l` is for long references;
`tokens` of an answer, cut after MOST_TOKENS, 0 if no passage is relevant; `ms` for the whole answer. `quoted` is the
model's own mode, but questions about what was said are answered by quotations, uncut, as in Jackdaw. The catalog's
`passages`, `arrangement` and `summaries` follow these figures. `skills` is the model without passages.
"""

import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from device_app.answering.sources.source import MOST_ATTEMPTS
from device_app.inference.local import LocalSource
from device_app.question.abstention import relevance
from device_app.settings import Answer
from models.catalog import Entry, find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.benchmarks.answers_cases import Case, sets
from scripts.benchmarks.answers_skills import skills
from scripts.benchmarks.percache_users import f1, rouge_l
from scripts.datasets.answering import words
from scripts.places import CannotRun, step, weights
from shared.ending import Piece, ended
from shared.prompt import build, is_not_found
from shared.types import Hit

MODEL = "smollm2-135m"
MODES = {"best": (1, False), "prompt3": (3, False), "rows3": (3, True)}
QUOTED = "quoted"
MOST_TOKENS = 48
MOST_QUESTIONS, QUICK_QUESTIONS = 40, 10

ASIDE = 4
"""The number of questions of which one is also asked in the other modes, which take three times as long."""


@dataclass(frozen=True, slots=True)
class Said:
    """The result of one answer: its scores, tokens and milliseconds, and whether the model abstained."""

    f1: float
    contains: float
    rouge_l: float
    tokens: int
    ms: float
    abstained: bool


@dataclass(frozen=True, slots=True)
class Arm:
    """The results of a model in one mode: its answers, and whether it abstained for questions whose passages contain no
    answer (`right`) and for questions whose passages do (`false`).
    """

    answers: list[Said] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    false: list[bool] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Return the figures that `run` lists for one mode."""
        shares = {"right": self.right, "false": self.false}
        measures = ("f1", "contains", "rouge_l", "tokens")
        return {
            "asked": len(self.answers),
            **{name: _mean(getattr(answer, name) for answer in self.answers) for name in measures},
            "ms": round(statistics.median(answer.ms for answer in self.answers), 1),
            "abstain": {kind: _mean(share) for kind, share in shares.items() if share},
        }


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as SET.MODEL.MODE.{asked,f1,contains,rouge_l,tokens,ms}; SET.MODEL.MODE.abstain.{right,false};
    abstain.{right,false}; skills.MODEL.{chats,perplexity}, with the perplexity on wikitext2.

    abstain.right is the share of abstentions for questions whose answering passages were removed, abstain.false for
    questions whose passages are present; at the top level, both are for the shipped model, averaged over the sets with
    short answers. Raises CannotRun.
    """
    folder = weights(MODEL, "all-minilm-l6-v2")
    entry = find(MODEL)
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    adapter = arguments.adapter or entry.adapter_file("auto")
    sources = {"base": _source(folder.path(entry), None, arguments.threads)}
    if adapter:
        sources["adapter"] = _source(folder.path(entry), adapter, arguments.threads)
    most = QUICK_QUESTIONS if arguments.quick else MOST_QUESTIONS
    figures: dict[str, Any] = {}
    abstained: dict[str, list[float]] = {"right": [], "false": []}
    with tempfile.TemporaryDirectory() as room:
        for name, cases in sets(Path(room), arguments.data, embedder, most):
            figures[name] = measured(name, cases, sources, _default(entry))
            shipped = figures[name][list(sources)[-1]].get(_default(entry), {"abstain": {}})
            for kind, share in shipped["abstain"].items():
                abstained[kind].append(share)
    figures["abstain"] = {kind: _mean(shares) for kind, shares in abstained.items() if shares}
    text = arguments.data / "wikitext2" / "text.txt" if arguments.data else None
    return figures | {"skills": skills(sources, text, arguments.quick)}


def _default(entry: Entry) -> str:
    """Return the mode in which Jackdaw uses the model by default."""
    if entry.passages == 1:
        return "best"
    return "rows3" if entry.arrangement == "rows" else "prompt3"


def _source(path: Path, adapter: Path | None, threads: int) -> LocalSource:
    engine = LlamaCppEngine(LlamaModel(path), threads=threads, adapter=adapter)
    if engine.info.refused:
        raise CannotRun(engine.info.refused)
    return LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))


def measured(name: str, cases: Sequence[Case], sources: Mapping[str, LocalSource], own: str) -> dict[str, Any]:
    """Return the figures by model and mode. The models take turns at each question; only the mode `own` gets all
    questions.
    """
    quotes = [QUOTED] if any(case.quoted for case in cases) else []
    arms = {model: {mode: Arm() for mode in (*MODES, *quotes)} for model in sources}
    for number, case in enumerate(cases):
        if number % 10 == 0:
            step(f"{name}: question {number} of {len(cases)}")
        for mode, (count, rows) in MODES.items():
            if mode != own and number % ASIDE:
                continue
            for model, source in sources.items():
                said = _ask(arms[model][mode], source, case, count, rows)
                if said and quotes and mode == own:
                    arms[model][QUOTED].answers.append(_quoted(source, case) or said)
    return {model: {mode: arm.figures() for mode, arm in modes.items() if arm.answers} for model, modes in arms.items()}


def _ask(arm: Arm, source: LocalSource, case: Case, count: int, rows: bool) -> Said | None:
    """Ask a question twice, with its retrieved passages and without those that answer it; return the first result."""
    read = MOST_ATTEMPTS if count == 1 else count
    said = None
    if case.answers:
        hits = case.hits[:read]
        said = _said(source, case, hits, count, rows)
        arm.answers.append(said)
        if not case.summary and any(case.tells(hit.passage) for hit in hits):
            arm.false.append(said.abstained)
    if away := case.away[:read]:
        arm.right.append(_said(source, case, away, count, rows).abstained)
    return said


def _said(source: LocalSource, case: Case, hits: Sequence[Hit], count: int, rows: bool) -> Said:
    """Return Jackdaw's answer from `count` passages at a time; if no passage is relevant enough, an abstention."""
    relevant = [hit for hit in hits if hit.score >= Answer().relevance]
    if not relevant:
        return Said(0.0, 0.0, 0.0, 0, 0.0, True)
    start = time.perf_counter()
    pieces = _written(source, case.question, relevant[:count], rows)
    for hit in relevant[count:] if is_not_found(_text(pieces)) else ():
        again = _written(source, case.question, [hit], rows)
        pieces = again if _text(again) else pieces
    text = _text(pieces)
    return _compared(case, text, len(pieces), (time.perf_counter() - start) * 1000)


def _quoted(source: LocalSource, case: Case) -> Said | None:
    """Return the quotation with which Jackdaw answers, if any; its tokens are counted by the model's tokenizer."""
    if not case.quoted:
        return None
    return _compared(case, case.quoted, len(source.engine.tokenize(case.quoted)), case.quoting_ms)


def _compared(case: Case, text: str, tokens: int, ms: float) -> Said:
    said, right = words(text), [words(answer) for answer in case.answers]
    return Said(
        max((f1(text, answer) for answer in case.answers), default=0.0),
        float(any(f" {' '.join(answer)} " in f" {' '.join(said)} " for answer in right)),
        max((rouge_l(text, answer) for answer in case.answers), default=0.0),
        tokens,
        ms,
        is_not_found(text),
    )


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces).strip()


def _written(source: LocalSource, question: str, hits: Sequence[Hit], rows: bool) -> list[Piece]:
    prompt = build(question, [hit.passage for hit in hits], source.template)
    stream = source.stream(
        prompt if rows else prompt.joined(),
        SamplingSettings(),
        max_tokens=MOST_TOKENS,
        similarities=[hit.similarity for hit in hits] if rows else [1.0],
        relevance=relevance(hits),
    )
    return list(ended(stream))


def _mean(values: Iterable[float]) -> float:
    return round(statistics.mean(map(float, values)), 4)
