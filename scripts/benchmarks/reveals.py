"""Measures how much of private passages a server's operator could read in the data that a device sends for joint
answers.

Uses questions about private chats, whose passages stay on the device, and a public corpus on a real server process.
Each passage's rare words are those that occur in few other passages and not in the question: names, numbers, places.
`words` is the share of the rare words that the sent tokens contain, `answers` the share of answers that sent at least
one; `tokens` were sent per answer. `beyond_answer` is the share of the words that the answer itself does not contain:
rejected drafts are sent, too. `distributions` and `numbers`, weights that follow the text, were sent per answer.
`fetch` sends only the question.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from device_app.answering.sources.joint import joint_pieces
from device_app.companion.fetching import Search
from device_app.companion.joint.aggregated import Aggregated, JointQuestion
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.companion.link.request import RemoteRequest
from device_app.english.query import Query
from device_app.english.terms import terms
from device_app.inference.local import LocalSource
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.following_weights import FollowingWeights
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.datasets.retrieval_sets import load
from scripts.datasets.stores import filled, retriever_over
from scripts.places import CannotRun, step, weights
from shared.aggregation.messages import Place, Rule
from shared.prompt import build
from shared.protocol import messages as m
from shared.text import embedded_text
from shared.trace import Trace
from shared.types import StoredPassage
from storage.paths import HOME_VARIABLE, Paths

_COMMAND = (sys.executable, "-c", "import sys; from cloud_server.cli import main; sys.exit(main())")

QUESTIONS, PUBLIC, TOKENS = 20, 1500, 64
RARE = 3
"""The most passages in which a rare word may occur."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to write a joint answer. `open`: distributions may leave. `every`: see `answer.weights_every`."""

    rule: Rule
    temperature: float
    open: bool = False
    every: int = 0


WAYS: dict[str, Way] = {
    "greedy": Way("greedy", 0.0),
    "coupled": Way("coupled", 0.7),
    "algorithm1": Way("algorithm1", 0.7),
    "open": Way("algorithm1", 0.7, open=True),
    "open_following": Way("algorithm1", 0.7, open=True, every=8),
}


class Wire(Link):
    """A link to the server that records the tokens sent over it."""

    def __init__(self, credentials: Credentials, hello: m.Hello) -> None:
        self.tokens: list[int] = []
        super().__init__(credentials, hello)

    def send(self, request: RemoteRequest, message: m.FromDevice) -> None:
        """Record the message's tokens, and send it."""
        if isinstance(message, m.Drafts | m.Targets):
            self.tokens += message.ids
        super().send(request, message)  # type: ignore[arg-type]  # a request sends nothing else


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its private passage, their similarity, and the passage's rare words."""

    question: str
    passage: StoredPassage
    similarity: float
    rare: frozenset[str]


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as WAY.{words,answers,beyond_answer,tokens,distributions,numbers,bytes}, fetch.bytes, words
    (the mean number of a passage's rare words), questions.
    """
    data: Path | None = arguments.data
    if data is None or not {"lihuaworld", "nq_passages"} <= load(data).keys():
        raise CannotRun("the benchmark needs --data with lihuaworld and nq_passages.")
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place, ExitStack() as cleanup:
        room = Path(place)
        step("private passages")
        cases = _cases(data, room, embedder, 5 if arguments.quick else QUESTIONS)
        engine = LlamaCppEngine(LlamaModel(folder.path(find("smollm2-135m"))), threads=arguments.threads)
        cleanup.callback(engine.close)
        source = LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
        step("a server with public passages")
        url, token = cleanup.enter_context(_server(data, room, folder.folder, arguments.threads))
        hello = m.Hello(m.VERSIONS, engine.vocabulary_hash(), embedder.fingerprint, "bench")
        link = cleanup.enter_context(closing(Wire(Credentials(url, token), hello)))
        if not link.wait(60).connected:
            raise CannotRun(f"there is no link to the server: {link.state.why_not()}")
        for name, way in WAYS.items():
            step(name)
            figures[name] = _means([_together(link, source, embedder, case, way) for case in cases])
        figures["fetch"] = {"bytes": round(statistics.mean(_fetched(link, case) for case in cases), 1)}
    figures["words"] = round(statistics.mean(len(case.rare) for case in cases), 1)
    figures["questions"] = len(cases)
    return figures


@dataclass(frozen=True, slots=True)
class Seen:
    """The share of the passage's rare words that were sent for one answer, the share that were sent but are not in the
    answer, and how many tokens, distributions, weights that follow the text, and bytes were sent.
    """

    words: float
    beyond: float
    tokens: int
    distributions: int
    numbers: int
    sent: int


def _together(link: Wire, source: LocalSource, embedder: Embedder, case: Case, way: Way) -> Seen:
    place: Place | None = None if way.open or way.rule != "algorithm1" else "device"
    sampling = SamplingSettings(temperature=way.temperature, min_p=0.05)
    asked = JointQuestion(
        case.question, sampling, TOKENS, 1, rule=way.rule, place=place, open=way.open, weights_every=way.every
    )
    link.tokens.clear()
    prompt = build(case.question, [case.passage], source.template).joined()
    joint = Aggregated(link, source, asked, Trace(), None)
    if way.every:
        texts, near = [embedded_text(case.passage.title, case.passage.text)], [case.similarity]
        joint.follow(FollowingWeights(embedder, source.engine.detokenize, case.question, texts, near, way.every))
    with joint:
        said = "".join(piece.text for piece in joint_pieces(joint, prompt, [case.similarity]))
    up = _words(source.engine.detokenize(link.tokens).decode(errors="replace")) & case.rare
    beyond, report = up - _words(said), joint.report
    return Seen(
        len(up) / len(case.rare),
        len(beyond) / len(case.rare),
        len(link.tokens),
        report.distributions_sent,
        report.weights_sent,
        report.sent_bytes,
    )


def _fetched(link: Link, case: Case) -> int:
    with Search(link, case.question, 1) as search:
        search.wait()
    return search.sent_bytes


def _means(seen: Sequence[Seen]) -> dict[str, float]:
    return {
        "words": round(statistics.mean(answer.words for answer in seen), 4),
        "answers": round(statistics.mean(answer.words > 0 for answer in seen), 4),
        "beyond_answer": round(statistics.mean(answer.beyond for answer in seen), 4),
        "tokens": round(statistics.mean(answer.tokens for answer in seen), 1),
        "distributions": round(statistics.mean(answer.distributions for answer in seen), 1),
        "numbers": round(statistics.mean(answer.numbers for answer in seen), 1),
        "bytes": round(statistics.mean(answer.sent for answer in seen), 1),
    }


def _cases(data: Path, room: Path, embedder: OnnxEmbedder, most: int) -> list[Case]:
    data_set = load(data)["lihuaworld"]
    store = filled(room / "private.db", data_set.files, embedder)
    retriever = retriever_over(store, embedder)
    cases: list[Case] = []
    for question in data_set.questions[:: max(len(data_set.questions) // (2 * most), 1)]:
        (hit,) = retriever.search(Query(question.text), 1)
        words = _words(hit.passage.text) - _words(question.text)
        rare = frozenset(word for word in words if len(retriever.keywords.search([word], RARE + 1)) <= RARE)
        if rare and len(cases) < most:
            cases.append(Case(question.text, hit.passage, hit.similarity, rare))
    return cases


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in terms(text) if len(word) > 2) if text.strip() else frozenset()


@contextmanager
def _server(data: Path, room: Path, weights: Path, threads: int) -> Iterator[tuple[str, str]]:
    """Run the product's server in a process of its own; yield its URL and a token."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JACKDAW_")}
    environment |= {HOME_VARIABLE: str(room / "home"), "JACKDAW_SERVER_LOG_LEVEL": "error"}
    environment |= {f"JACKDAW_SERVER_LIMITS_{name}_PER_MINUTE": "1000000" for name in ("TOKENS", "SEARCHES")}
    held = Paths.locate(environment).weights
    held.parent.mkdir(parents=True)
    held.symlink_to(weights)
    few = room / "public.jsonl"
    with (data / "nq_passages" / "passages.jsonl").open(encoding="utf-8") as stream:
        few.write_text("".join(islice(stream, PUBLIC)), encoding="utf-8")

    def does(*words: str) -> dict[str, Any]:
        process = subprocess.run([*_COMMAND, *words, "--json"], env=environment, check=True, capture_output=True)
        figures: dict[str, Any] = json.loads(process.stdout)
        return figures

    does("index", "build", str(few))
    token = does("token", "create", "bench")["token"]
    serve = ("serve", "--port", "0", "--metrics-port", "0", "--threads", str(threads), "--json")
    process = subprocess.Popen([*_COMMAND, *serve], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], token
    finally:
        process.terminate()
        process.wait()
