"""Search in an index larger than memory, with clusters read on demand or ahead of questions, against memory-mapped
FAISS.

FAISS searches with its list file memory-mapped. Reading ahead is for questions whose final text is still being written.
With --data, vectors are generated around real ones and real questions are rewritten (`telerag_data`), with their texts
replayed (`telerag_ahead`); the overlap of questions is counted (`telerag_reuse`), and the index grows to 8 million
vectors, of which a server must not keep too many in memory (`telerag_scale`). The server's pipelines run on --questions
real questions (`telerag_pipelines`): what they find, and their rounds replayed at the pace of the paper's model.
Without --data, all vectors are generated and only searches of unchanged questions are timed (`telerag_cold`). Both also
measure a GPU if there is one (`telerag_gpu`), and RaBitQ codes of a million vectors (`telerag_codes`): the run fails if
their recall is too low. Without --quick, it also fails if another required limit is missed (`telerag_bars`). --only
runs some of the parts: searches, pipelines.
"""

import shutil
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from models.catalog import find
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks.telerag_ahead import DISKS, HYDE_S, decode_ratio, measured, opened, ratios
from scripts.benchmarks.telerag_bars import missed
from scripts.benchmarks.telerag_codes import LEAST_RECALL, extended, halves, searched
from scripts.benchmarks.telerag_cold import Arms, made_blocks, made_index, questions
from scripts.benchmarks.telerag_data import MODEL, Around, Asked, Round, make, real
from scripts.benchmarks.telerag_gpu import cooperative
from scripts.benchmarks.telerag_pipelines import PAPER_S, kept, overlaps, recalls, recorded
from scripts.benchmarks.telerag_reuse import hit_rates, overlap, together
from scripts.benchmarks.telerag_scale import served, swept
from scripts.places import CannotRun, chosen_parts, step, weights
from shared.protocol.messages import Pipeline
from storage.ivf import probes_for
from storage.ivf_files import Codec, Vectors

PARTS = ("searches", "pipelines")
PASSAGES, QUICK_PASSAGES = 800_000, 80_000
CODED, QUICK_CODED = 1_000_000, 100_000
PROBES, QUICK_PROBES = (64, 128, 256, 512), (64, 256)
QUESTIONS, QUICK_QUESTIONS = 24, 8
REAL_PASSAGES, QUICK_REAL_PASSAGES = 8_719, 800
REAL_QUESTIONS, QUICK_REAL_QUESTIONS = 4_147, 500
DECODES, QUICK_DECODES = 9, 3
PIPELINE_QUESTIONS, QUICK_PIPELINE_QUESTIONS = 20, 3
PACED_DISKS = ("native", "500")
"""The disks on which the pipelines are replayed. While the paper's model writes, one of 100 MB/s reads less than half
of what a query needs.
"""

CODEC: Final[Codec] = "f16"
KEPT: Final[Codec] = "rabitq"
"""The codec of the index that the benchmark builds. It stores RaBitQ codes in addition to the inverted lists, which are
the same as with the codec `CODEC`; only one arm searches the codes.
"""

CODED_QUESTIONS: Final = 200


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as `telerag.DISK.CODEC.PIPELINE.ARM.NPROBE`: median ms, bytes, and whether ids equal FAISS's;
    the ratios of times; as `overlap.PIPELINE.SET` the share of clusters that the look-ahead names; and as
    `recall.PIPELINE` what the pipelines find, as `jackdaw-server pipelines measure` says it.
    """
    parts = chosen_parts(arguments.only, PARTS)
    with tempfile.TemporaryDirectory() as room:
        if arguments.data is None:
            if "searches" not in parts:
                raise CannotRun("the pipelines need --data.")
            return _generated(arguments, Path(room))
        return _real(arguments, parts, Path(room))


def _generated(arguments: Namespace, room: Path) -> dict[str, Any]:
    quick, folder = arguments.quick, room / "index"
    passages, coded = (QUICK_PASSAGES, QUICK_CODED) if quick else (PASSAGES, CODED)
    step(f"an index of {passages:,} passages")
    made_index(folder, passages, KEPT, arguments.threads)
    made = questions(CODED_QUESTIONS)
    figures = _plain(Arms(folder, made[:QUESTIONS]), quick) | _gpu(folder, made[:QUESTIONS], quick)
    figures |= _codes(folder, made_blocks(passages, coded), made, arguments.threads)
    figures["halves"] = halves(made_blocks(0, passages), made)
    return figures | {"passages": passages, "missed": _missed(figures, quick)}


def _real(arguments: Namespace, parts: Sequence[str], room: Path) -> dict[str, Any]:
    quick, folder = arguments.quick, room / "index"
    passages = QUICK_PASSAGES if quick else PASSAGES
    rewritten, asked_at_all = (QUICK_QUESTIONS, QUICK_REAL_QUESTIONS) if quick else (QUESTIONS, REAL_QUESTIONS)
    if "searches" not in parts:
        rewritten = asked_at_all = 1
    asked = real(arguments, rewritten, QUICK_REAL_PASSAGES if quick else REAL_PASSAGES, asked_at_all)
    step(f"an index of {passages:,} passages")
    around = Around(asked.passages)
    make(folder, around, passages, KEPT, arguments.threads)
    figures: dict[str, Any] = {"telerag": {}, "ratio": {}, "overlap": {}, "missed": ""}
    if "searches" in parts:
        figures |= _searches(arguments, folder, around, asked, room)
    if "pipelines" in parts:
        _pipelines(figures, arguments, folder, room)
    return figures | {"passages": passages, "missed": _missed(figures, quick)}


def _searches(arguments: Namespace, folder: Path, around: Around, asked: Asked, room: Path) -> dict[str, Any]:
    quick = arguments.quick
    passages, coded = (QUICK_PASSAGES, QUICK_CODED) if quick else (PASSAGES, CODED)
    figures = _plain(Arms(folder, asked.questions[:QUESTIONS]), quick)
    figures |= _gpu(folder, asked.questions[:QUESTIONS], quick)
    figures |= _codes(folder, around.blocks(passages, coded), asked.questions[:CODED_QUESTIONS], arguments.threads)
    step("halves against float32")
    figures["halves"] = halves(around.blocks(0, passages), asked.questions[:CODED_QUESTIONS])
    figures["halves_real"] = halves([lambda: asked.passages], asked.questions[:CODED_QUESTIONS])
    figures["sweep"] = swept(around, asked.questions, room, quick)
    figures["memory"] = served(around, asked.texts, room, arguments)
    _ahead(figures, folder, asked, quick)
    engine = LlamaCppEngine(LlamaModel(weights(MODEL).path(find(MODEL))), threads=arguments.threads)
    figures["decode_ratio"] = decode_ratio(engine, folder, asked.questions, QUICK_DECODES if quick else DECODES)
    engine.close()
    return figures


def _missed(figures: dict[str, Any], quick: bool) -> str:
    """Return the names of the figures that missed their limits; with --quick, of those for an index of any size."""
    names = [figures.pop("missed"), figures.get("memory", {}).pop("missed", "")]
    return ", ".join(filter(None, names + ([] if quick else missed(figures))))


def _plain(arms: Arms, quick: bool) -> dict[str, Any]:
    measured = arms.measured(QUICK_PROBES if quick else PROBES)
    own = measured["on_demand"]
    bars = {
        f"on_demand_to_{rival}": {
            nprobe: round(own[nprobe]["retrieval_ms"] / measured[rival][nprobe]["retrieval_ms"], 3) for nprobe in own
        }
        for rival in ("mapped", "faiss_prefetch")
    }
    return {"telerag": {"native": {CODEC: {"plain": measured}}}, "ratio": bars}


def _gpu(folder: Path, asked: Vectors, quick: bool) -> dict[str, Any]:
    return {"gpu": cooperative(folder, asked, QUICK_PROBES if quick else PROBES)}


def _codes(folder: Path, blocks: Sequence[Callable[[], Vectors]], asked: Vectors, threads: int) -> dict[str, Any]:
    step("codes of more passages")
    larger = folder.with_name("larger")
    extended(larger, folder, blocks, threads)
    figures = searched(larger, asked)
    shutil.rmtree(larger)
    return {"rabitq": figures, "missed": "" if figures["recall10"] >= LEAST_RECALL else "rabitq.recall10"}


def _ahead(figures: dict[str, Any], folder: Path, asked: Asked, quick: bool) -> None:
    vectors = opened(folder, 0.0)
    nprobe = probes_for(vectors.clusters, len(vectors))
    figures["nprobe"] = nprobe
    every = {
        pipeline: [rewriting.anchored() if is_anchored else rewriting for rewriting in asked.rewritings[writer]]
        for pipeline, writer, is_anchored in (
            ("hyde", "hyde", False),
            ("hyde_anchored", "hyde", True),
            ("ideal", "ideal", False),
        )
    }
    figures["overlap"] = {name: {"nq_passages": overlap(vectors, own, nprobe)} for name, own in every.items()}
    figures["together"] = together(vectors, asked.questions, nprobe)
    step("hit rates")
    figures["hit_rate"] = rates = hit_rates(vectors, asked.questions, nprobe)
    figures["hit_rate_gain"] = round(rates["decay"]["0.125"] - rates["lru"]["0.125"], 4)
    for disk in DISKS:
        for pipeline, own in every.items():
            if pipeline == "ideal" or (quick and pipeline != "hyde"):
                continue
            _replay(figures, folder, pipeline, disk, [[each] for each in own], nprobe, HYDE_S)


def _pipelines(figures: dict[str, Any], arguments: Namespace, folder: Path, room: Path) -> None:
    """Add the pipelines' recall, the overlap of their clusters, and their rounds replayed at the paper's pace."""
    count = arguments.questions or (QUICK_PIPELINE_QUESTIONS if arguments.quick else PIPELINE_QUESTIONS)
    known, runs = recorded(arguments, count, room)
    vectors = opened(folder, 0.0)
    nprobe = probes_for(vectors.clusters, len(vectors))
    figures["recall"] = {}
    for is_anchored, own in runs.items():
        ending = "_anchored" if is_anchored else ""
        figures["recall"] |= {pipeline + ending: row for pipeline, row in recalls(known, own).items()}
        for pipeline, shares in overlaps(vectors, own, nprobe).items():
            figures["overlap"][_named(pipeline) + ending] = {"nq_passages": shares}
    for disk in PACED_DISKS:
        for pipeline, rounds in kept(runs[False]).items():
            if rounds:
                _replay(figures, folder, _named(pipeline), disk, rounds, nprobe, PAPER_S[pipeline])


def _named(pipeline: Pipeline) -> str:
    """Return the name of a pipeline that ran as in the server; HyDE's other texts all have their full length."""
    return "hyde_run" if pipeline == "hyde" else pipeline


def _replay(
    figures: dict[str, Any],
    folder: Path,
    name: str,
    disk: str,
    asked: Sequence[Sequence[Round]],
    nprobe: int,
    seconds: float,
) -> None:
    step(f"{name} on a disk of {disk}")
    arms = measured(folder, asked, disk, nprobe, seconds)
    by_probes = {arm: {str(nprobe): row} for arm, row in arms.items()}
    figures["telerag"].setdefault(disk, {}).setdefault(CODEC, {})[name] = by_probes
    figures["ratio"].setdefault(name, {})[disk] = ratios(arms, DISKS[disk])
