"""The quality of answers that are handed over (DiSCo, equation 6 and appendix D), between the bare model in Q8_0
(`better`) and a worse quantisation of it (`worse`).

Answers of at least 20 tokens to the requests of `prompts/instructions` and the questions of `qmsum` are handed over as
token ids after 10 to 90% of the first side's answer, in both directions. `handover.SIDE` has F1 and ROUGE-L against the
reference, SIDE being `better`, `worse`, `moved`, `to_better` or `to_worse`; `agreement` is the F1 of a moved answer
with the answer of the side that began it. `difference.NAME` has means of paired differences with their 95% intervals
over the requests: `moved_over_worse` (the required limit: its `low` above −.02), `better_over_worse`. `bound` is the
share of moved answers whose quality lies between the two sides', equation 6 as printed, and `not_below` the share at
least as good as the lesser of the two.
"""

import json
import math
import statistics
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from device_app.english.query import Query
from device_app.inference.local import LocalSource
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.quantize import Quantisation, requantise
from models.sampling import SamplingSettings
from scripts.benchmarks.percache_replay import paired
from scripts.benchmarks.percache_users import f1, rouge_l, users
from scripts.datasets.retrieval_sets import lines
from scripts.datasets.stores import filled, retriever_over
from scripts.places import CannotRun, step, weights
from shared.ending import ended, spelled
from shared.errors import ContextFull
from shared.prompt import Prompt, passage_text, turn
from shared.trace import Trace

WORSE: Quantisation = "q4_0"
ANSWERS, QUICK_ANSWERS = 240, 12
LEAST_TOKENS, MOST_TOKENS, PASSAGES = 20, 96, 2
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Request:
    """A text for the model, and a reference answer."""

    text: str
    reference: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The text of an answer that one side, the better or the worse, began and the other side finished."""

    text: str
    began: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers to one request: each side's own, and those handed over, by the side that finished them."""

    reference: str
    own: dict[str, str]
    moved: dict[str, list[Moved]]


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as `handover`; the module's docstring explains them."""
    if not arguments.data:
        raise CannotRun("the requests are read from `prompts` and `qmsum` under --data DIR.")
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    better = folder.path(find("smollm2-135m"))
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    most = QUICK_ANSWERS if arguments.quick else ANSWERS
    answered: list[Answered] = []
    with tempfile.TemporaryDirectory() as place:
        worse = Path(place) / f"{WORSE}.gguf"
        requantise(better, worse, WORSE, threads=arguments.threads)
        sides = {"better": _opened(better, arguments.threads), "worse": _opened(worse, arguments.threads)}
        for request in _requests(arguments.data, Path(place), embedder, most):
            if len(answered) == most:
                break
            with suppress(ContextFull):
                if answer := _answered(request, sides):
                    answered.append(answer)
                    step(f"answer {len(answered)} of {most}")
        for side in sides.values():
            side.engine.close()
    if not answered:
        raise CannotRun(f"no answer has {LEAST_TOKENS} tokens.")
    return {"handover": figures(answered)}


def figures(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return the figures over all answers."""
    scores = {"f1": f1, "rouge_l": rouge_l}
    by_side: dict[str, dict[str, float]] = {}
    differences: dict[str, dict[str, Any]] = {}
    shares: dict[str, dict[str, float]] = {"bound": {}, "not_below": {}}
    for measure, score in scores.items():
        own = {side: [score(each.own[side], each.reference) for each in answered] for side in ("better", "worse")}
        moved = {
            side: [[score(moved.text, each.reference) for moved in each.moved[side]] for each in answered]
            for side in ("better", "worse")
        }
        means = {f"to_{side}": [statistics.mean(of_request) for of_request in moved[side]] for side in moved}
        means["moved"] = [statistics.mean(both) for both in zip(means["to_better"], means["to_worse"], strict=True)]
        for name, values in (own | means).items():
            by_side.setdefault(name, {})[measure] = round(statistics.mean(values), 4)
        pairs = {"better_over_worse": (own["better"], own["worse"])}
        pairs |= {f"{name}_over_worse": (values, own["worse"]) for name, values in means.items()}
        for name, (ours, theirs) in pairs.items():
            difference = [left - right for left, right in zip(ours, theirs, strict=True)]
            differences.setdefault(name, {})[measure] = paired(difference)
        limits = list(zip(own["better"], own["worse"], strict=True))
        every = [
            (quality, *sorted(limit))
            for side in moved
            for at, limit in enumerate(limits)
            for quality in moved[side][at]
        ]
        shares["bound"][measure] = round(statistics.mean(low <= each <= high for each, low, high in every), 4)
        shares["not_below"][measure] = round(statistics.mean(low <= each for each, low, _ in every), 4)
    agreement = [f1(moved.text, moved.began) for each in answered for some in each.moved.values() for moved in some]
    return {
        **by_side,
        "agreement": round(statistics.mean(agreement), 4),
        "difference": differences,
        **shares,
        "answers": len(answered),
    }


def _opened(path: Path, threads: int) -> LocalSource:
    engine = LlamaCppEngine(LlamaModel(path), threads=threads)
    return LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))


def _requests(data: Path, place: Path, embedder: OnnxEmbedder, most: int) -> Iterator[Request]:
    """Yield the requests of both sets, alternately."""
    instructions = list(_instructions(data))
    questions = _questions(data, place, embedder, most)
    for instruction in instructions:
        yield instruction
        if question := next(questions, None):
            yield question
    yield from questions


def _instructions(data: Path) -> Iterator[Request]:
    for line in lines(data / "prompts" / "instructions.jsonl"):
        for example in line["instances"]:
            yield Request("\n\n".join(filter(None, (line["instruction"], example["input"]))), example["output"])


def _questions(data: Path, place: Path, embedder: OnnxEmbedder, most: int) -> Iterator[Request]:
    """Yield the questions about meetings, each with the passages nearest to it."""
    for number, user in enumerate(users(data, meetings=most)["qmsum"]):
        retriever = retriever_over(filled(place / f"{number}.db", user.files, embedder), embedder)
        meeting = json.loads((data / "qmsum" / f"{user.name}.json").read_text(encoding="utf-8"))
        general = [(query["query"], query["answer"]) for query in meeting["general_query_list"]]
        for text, reference in [*((asked.text, asked.reference) for asked in user.questions), *general]:
            passages = [hit.passage for hit in retriever.search(Query(text), PASSAGES)]
            yield Request("\n".join([*map(passage_text, passages), text]), reference)


def _answered(request: Request, sides: dict[str, LocalSource]) -> Answered | None:
    """Return the request's answers; None if a side's own has fewer than LEAST_TOKENS tokens."""
    prompt = turn(request.text, sides["better"].template)
    own = {name: _tokens(side, prompt, ()) for name, side in sides.items()}
    if min(map(len, own.values())) < LEAST_TOKENS:
        return None
    moved: dict[str, list[Moved]] = {}
    for begins, finishes in (("better", "worse"), ("worse", "better")):
        for share in SHARES:
            accepted = own[begins][: math.ceil(share * len(own[begins]))]
            whole = [*accepted, *_tokens(sides[finishes], prompt, accepted)]
            text = _text(sides[finishes], whole)
            moved.setdefault(finishes, []).append(Moved(text, _text(sides[begins], own[begins])))
    return Answered(request.reference, {name: _text(sides[name], tokens) for name, tokens in own.items()}, moved)


def _tokens(side: LocalSource, prompt: Prompt, accepted: Sequence[int]) -> list[int]:
    """Return the tokens that an engine generates after the accepted ones."""
    stream = side.go_on(prompt, accepted, SamplingSettings(), max_tokens=MOST_TOKENS, trace=Trace())
    with closing(stream):
        return list(stream)


def _text(side: LocalSource, tokens: Sequence[int]) -> str:
    return "".join(piece.text for piece in ended(spelled(tokens, side.engine.detokenize, MOST_TOKENS))).strip()
