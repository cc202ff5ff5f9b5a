"""The environment that all arms of the benchmark `dragon` share: a device on one half of the processor's cores, a
server and a network line on the other half.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Final

from device_app.cache.states.tree import QKVTree
from device_app.settings import Model
from models.catalog import Weights, find
from models.chat_template import parse
from models.engine import Embedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks import dragon_server
from scripts.benchmarks.dragon_answer import JOINT, Arm
from scripts.benchmarks.dragon_arms import Bench
from scripts.benchmarks.dragon_data import Private
from scripts.benchmarks.dragon_server import MODEL, Server, ServerSetup
from scripts.benchmarks.pacing import Pace, Paced
from scripts.places import CannotRun, step
from shared.side import Side
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices

RTTS: Final = (0, 50, 100, 200, 300)
"""The extra round-trip times of the lines, in ms."""

STEPS: Final[Mapping[str, Mapping[Side, float]]] = {
    "native": {"device": 0.0, "server": 0.0},
    "reference": {"device": 0.13, "server": 0.04},
}
"""Seconds per decode step on each side: unthrottled, or those of a model with 1.3 billion parameters on a phone and on
a server.
"""

PROMPT_TOKEN_S: Final[Mapping[Side, float]] = {"device": 1 / 60, "server": 1 / 1000}
"""Seconds per token of a prompt on a phone and on a server's GPU, for figures in which the time to read prompts
matters.
"""

READ_SHARES: Final[Mapping[Side, float]] = {"device": 0.45, "server": 0.05}
"""The cost, in steps, of each further token that is read in one step. A phone decodes 14 tokens a second of a model
with 1.1 billion parameters and prefills 31 (DiSCo, appendix E); a server's GPU prefills many at once.
"""

TOKENS: Final = {"native": 32, "reference": 20}
"""The number of tokens of a timed answer."""

PASSAGES, MOST_PASSAGES = 2, 4

LEVEL: Final = 0.6
"""The similarity that is set for each passage to force equal weights."""

BASELINES: tuple[Arm, ...] = ("device_only", "token_wise", "sequence_wise", "sequence_wise_compact")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The amounts to measure: numbers of answers, rounds and tokens."""

    rtts: Sequence[int] = RTTS
    repeats: int = 5
    aheads: Sequence[int] = (1, 2, 4, 8)
    rows: Sequence[int] = (1, 2, 4)
    answers: int = 16
    greedy: int = 50
    draws: int = 3000
    windows: int = 16
    followed: int = 24
    scheduled: int = 24
    scheduled_tokens: int = 80
    firsts: int = 20


QUICK: Final = Sizes((0, 300), 2, (1, 8), (1, 4), 4, 5, 300, 3, 2, 2, 12, 4)


@dataclass(frozen=True, slots=True)
class Halves:
    """The two halves of the cores: the device's and the server's."""

    device: Sequence[int]
    server: Sequence[int]


@dataclass(frozen=True, slots=True)
class Setting:
    """A device with its server, the paces of both, and the similarity set for the server's passages."""

    bench: Bench
    private: Private
    paces: Mapping[Side, Pace]
    level: "Synchronized[float]"
    sizes: Sizes

    def at(self, pace: str, *, endless: bool = True, level: float = LEVEL, reads_slowly: bool = False) -> None:
        """Set the pace of both sides; `level` replaces the similarity of each public passage.

        Where a side `reads_slowly`, the tokens of prompts take `PROMPT_TOKEN_S`, else they take as long as on this
        machine.
        """
        for side, own in self.paces.items():
            own.step_s, own.endless = STEPS[pace][side], endless
            own.prompt_token_s = PROMPT_TOKEN_S[side] if reads_slowly else 0.0
        self.level.value = level


@contextmanager
def pinned() -> Iterator[Halves]:
    """Within the block, pin this process, which is the device, to the first half of the cores. Raises CannotRun."""
    if not hasattr(os, "sched_setaffinity"):
        raise CannotRun("on this system a process cannot be pinned to some of the cores.")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise CannotRun("the benchmark needs two cores: one for the device, one for the server.")
    half = len(cores) // 2
    os.sched_setaffinity(0, cores[:half])
    try:
        yield Halves(cores[:half], cores[half : 2 * half])
    finally:
        os.sched_setaffinity(0, cores)


def device_engine(folder: Weights, threads: int, sequences: int = 8) -> LlamaCppEngine:
    """Return an engine with the device's default settings."""
    own = Model()
    return LlamaCppEngine(
        LlamaModel(folder.path(find(MODEL))),
        context=own.context,
        sequences=sequences,
        threads=threads,
        kv_type=own.kv,
    )


@contextmanager
def ready(
    folder: Weights, room: Path, index: Path, halves: Halves, embedder: Embedder, held: Private, sizes: Sizes
) -> Iterator[Setting]:
    """Yield the running setting, after all timed prompts have been prefilled on both sides."""
    paces: dict[Side, Pace] = {side: Pace(share) for side, share in READ_SHARES.items()}
    level = dragon_server.level()
    database = Database(room / "tree.db")
    tree = QKVTree(KVSlices(database), Blobs(room / "kv"), Counters(database), 1 << 40, "lru")
    with ExitStack() as opened:
        step("starting the server")
        server = opened.enter_context(Server(ServerSetup(folder, index, room, halves.server, paces["server"], level)))
        engine = Paced(device_engine(folder, len(halves.device)), paces["device"])
        opened.callback(engine.close)
        template = parse(engine.info.chat_template, engine.info.bos)
        lines = sizes.rtts, halves.server
        bench = opened.enter_context(Bench(engine, template, embedder, tree, server, *lines))
        setting = Setting(bench, held, paces, level, sizes)
        setting.at("native")
        for question in held.questions[: sizes.repeats]:
            bench.source.prefill(question.prompt(template, 1, PASSAGES), tree)
            for rows in sizes.rows:
                bench.source.prefill(question.prompt(template, rows, MOST_PASSAGES), tree)
            for arm in (*BASELINES, *JOINT):
                bench.answer(arm, question, sizes.rtts[0], 2, level=LEVEL)
        yield setting
