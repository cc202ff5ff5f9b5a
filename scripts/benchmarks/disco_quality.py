"""The quality of answers that are handed over (DiSCo, equation 6 and appendix D), between the bare model in Q8_0
(`better`) and a worse quantisation of it (`worse`).

Answers of at least 20 tokens to the requests of `prompts/instructions` and the questions of `qmsum` are handed over as
token ids after 10 to 90% of the first side's answer, in both directions. `handover.SIDE` has F1 and ROUGE-L against the
reference, SIDE being `better`, `worse`, `moved`, `to_better` or `to_worse`; `agreement` is the F1 of a moved answer
with the answer of the side that began it. `difference.NAME` has means of paired differences with their 95% intervals
over the requests: `moved_over_worse` (the required limit: its `low` above −.02), `better_over_worse`. `bound` is the
share of moved answers whose quality lies between the two sides', equation 6 as printed, and `not_below` the share at
least as good as the lesser of the two.

As only quality is measured, answers to several requests are decoded in one pass, each in a row (engine sequence) of its
own, and both sides compute at once. A row's logits differ by up to 1 from those of the same tokens decoded alone, as
those of a prefilled token do, since sums are rounded in another way: near ties are decided otherwise, on both sides
alike. Where a side gets the tokens that its own answer begins with, the handed-over answer is its own, and is not
computed.
"""

import json
import math
import statistics
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from device_app.english.query import Query
from device_app.inference.local import LocalSource
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.engine import Engine, Logits
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.quantize import Quantisation, requantise
from models.sampling import SamplingSettings, sample
from scripts.benchmarks.percache_replay import paired
from scripts.benchmarks.percache_users import f1, rouge_l, users
from scripts.datasets.retrieval_sets import lines
from scripts.datasets.stores import filled, retriever_over
from scripts.places import CannotRun, step, weights
from shared.ending import ended, spelled
from shared.prompt import passage_text, turn

WORSE: Quantisation = "q4_0"
ANSWERS, QUICK_ANSWERS = 240, 12
LEAST_TOKENS, MOST_TOKENS, PASSAGES = 20, 96, 2
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
OTHER: Final = {"better": "worse", "worse": "better"}

GROUP: Final = 4
"""The number of requests whose answers are decoded together. More would make each pass attend to more states."""

ROWS: Final = GROUP * len(SHARES)
"""The number of engine sequences of a side."""

CONTEXT: Final = 8192
MOST_PROMPT: Final = CONTEXT // GROUP - (1 + len(SHARES)) * MOST_TOKENS
"""The most tokens of a request; longer requests are left out."""


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
        threads = max(1, arguments.threads // 2)
        sides = {"better": _opened(better, threads), "worse": _opened(worse, threads)}
        for some in answers(_requests(arguments.data, Path(place), embedder, most), sides):
            answered += some
            step(f"answer {len(answered)} of {most}")
            if len(answered) >= most:
                break
        for side in sides.values():
            side.engine.close()
    if not answered:
        raise CannotRun(f"no answer has {LEAST_TOKENS} tokens.")
    return {"handover": figures(answered[:most])}


def answers(requests: Iterable[Request], sides: Mapping[str, LocalSource]) -> Iterator[list[Answered]]:
    """Yield the answers to the requests, up to `GROUP` of them at a time, in order; each side has `ROWS` sequences.

    Requests of more than `MOST_PROMPT` tokens, and those to which a side's own answer has fewer than `LEAST_TOKENS`,
    are left out.
    """
    coming = iter(requests)
    while group := list(islice(coming, GROUP)):
        yield _answered(group, sides)


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
    engine = LlamaCppEngine(LlamaModel(path), context=CONTEXT, sequences=ROWS, threads=threads)
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


def _answered(group: Sequence[Request], sides: Mapping[str, LocalSource]) -> list[Answered]:
    """Return the answers to at most `GROUP` requests; `answers` says which are left out. Both sides compute at once."""
    better = sides["better"]
    read = [better.tokens(turn(request.text, better.template).tail) for request in group]
    prompts = {place * len(SHARES): tokens for place, tokens in enumerate(read) if len(tokens) <= MOST_PROMPT}
    with ThreadPoolExecutor(len(sides)) as pool:
        drawn = pool.map(lambda side: _own(side.engine, prompts), sides.values())
        own = dict(zip(sides, drawn, strict=True))
        long = [row for row in prompts if min(len(answer[row]) for answer in own.values()) >= LEAST_TOKENS]

        def finished(side: str) -> dict[int, list[int]]:
            pairs = {row: (own[OTHER[side]][row], own[side][row]) for row in long}
            return _moved(sides[side].engine, pairs)

        wholes = dict(zip(sides, pool.map(finished, sides), strict=True))
    for side in sides.values():
        for row in range(ROWS):
            side.engine.clear(row)
    answered = []
    for row in long:
        texts = {name: _text(sides[name], answer[row]) for name, answer in own.items()}
        moved = {
            name: [Moved(_text(sides[name], some[at]), texts[OTHER[name]]) for at in range(row, row + len(SHARES))]
            for name, some in wholes.items()
        }
        answered.append(Answered(group[row // len(SHARES)].reference, texts, moved))
    return answered


def _own(engine: Engine, prompts: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return the engine's answer to each row's prompt. Afterwards the rows hold the prompts."""
    drawn: dict[int, list[int]] = {row: [] for row in prompts}
    _go_on(engine, {row: engine.prefill(row, prompt) for row, prompt in prompts.items()}, drawn)
    for row, prompt in prompts.items():
        engine.rollback(row, engine.length(row) - len(prompt))
    return drawn


def _moved(engine: Engine, pairs: Mapping[int, tuple[list[int], list[int]]]) -> dict[int, list[int]]:
    """Return the answers that another side began and the engine finished, after each of `SHARES` of its tokens.

    `pairs` has the other side's answer and the engine's own, by the row that holds the prompt; its result for the first
    share is at that row, for the others at the rows after it.
    """
    wholes: dict[int, list[int]] = {}
    logits: dict[int, Logits] = {}
    for first, (theirs, own) in pairs.items():
        held, read = first, 0
        for row, share in enumerate(SHARES, first):
            count = math.ceil(share * len(theirs))
            if theirs[:count] == own[:count]:
                wholes[row] = own
                continue
            if row != held:
                engine.fork(held, row)
            logits[row] = engine.prefill(row, theirs[read:count])
            wholes[row] = theirs[:count]
            held, read = row, count
    _go_on(engine, logits, wholes)
    return wholes


def _go_on(engine: Engine, logits: Mapping[int, Logits], answers: Mapping[int, list[int]]) -> None:
    """Append the likeliest tokens to the answers, all rows in one pass, until each has ended or has `MOST_TOKENS`.

    `logits` are those after each row's tokens; answers of other rows stay as they are.
    """
    while logits:
        drawn: dict[int, int] = {}
        for row, last in logits.items():
            token = sample(last, SamplingSettings())
            if not engine.is_end(token):
                answers[row].append(token)
                if len(answers[row]) < MOST_TOKENS:
                    drawn[row] = token
        logits = engine.decode(drawn) if drawn else {}


def _text(side: LocalSource, tokens: Sequence[int]) -> str:
    return "".join(piece.text for piece in ended(spelled(tokens, side.engine.detokenize, MOST_TOKENS))).strip()
