"""Measures how the time of searches grows with the index, over two orders of magnitude, and the memory of a server
whose index is larger than its memory.

To train and assign clusters of millions of vectors takes an hour, and changes nothing that is measured here. So the
centroids are generated around real vectors (`Around`), and the vectors of each cluster around its centroid; all
clusters are of nearly the same size. The texts of the server's passages are the same few, again and again.
"""

import json
import math
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from cloud_server.retrieval.versions import IndexMetadata, Versions, write_facts
from cloud_server.settings import Settings
from models.embedder import OnnxEmbedder
from scripts.benchmarks.server import SERVER, running
from scripts.benchmarks.telerag_cold import Arms
from scripts.benchmarks.telerag_data import MODEL, Around
from scripts.places import step, weights
from shared.protocol import messages as m
from shared.protocol.device import DeviceSession
from storage.ivf import clusters_for
from storage.ivf_files import CLUSTERS, LISTS, NUMBER, Codec, Layout, Vectors, encoded, write_clusters
from storage.paths import HOME_VARIABLE, Paths
from storage.public_passages import PassageText, write_passages

SIZES, QUICK_SIZES = (80_000, 800_000, 8_000_000), (8_000, 80_000)
PROBES, QUICK_PROBES = (64, 128, 256, 512), (64, 256)
QUESTIONS: Final = 8
SPREAD: Final = 0.5
"""The length of the noise that is added to a unit centroid to generate a vector."""

TEXTS: Final = 100_000
"""The number of passages in each file of texts."""

BESIDES_MB: Final = 650.0
"""The most megabytes that a server may take in addition to the vectors (`memory_mb`) and the KV states
(`prefix_mb`).
"""


def swept(around: Around, asked: Vectors, room: Path, quick: bool) -> dict[str, Any]:
    """Return the figures by number of passages: median times by arm and number of probed clusters; and as
    `slope.ARM.PROBES` the slope of the time by passages, on log scales.
    """
    sizes = QUICK_SIZES if quick else SIZES
    figures: dict[str, Any] = {}
    for passages in sizes:
        step(f"a search of {passages:,} passages")
        folder = room / "sized"
        write_index(folder, around, passages, "f16")
        figures[str(passages)] = Arms(folder, asked[:QUESTIONS]).measured(QUICK_PROBES if quick else PROBES)
        shutil.rmtree(folder)
    ends = [figures[str(size)] for size in (sizes[0], sizes[-1])]
    decades = math.log(sizes[-1] / sizes[0])
    slopes = {
        arm: {
            nprobe: round(math.log(ends[1][arm][nprobe]["retrieval_ms"] / row["retrieval_ms"]) / decades, 3)
            for nprobe, row in ends[0][arm].items()
        }
        for arm in ends[0]
    }
    return figures | {"slope": slopes}


def served(around: Around, questions: Sequence[str], room: Path, arguments: Namespace) -> dict[str, Any]:
    """Return the most memory that a server process takes while it answers the questions, the bytes of its index, and
    the limit.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("JACKDAW_")}
    own |= {HOME_VARIABLE: str(room / "home"), "JACKDAW_SERVER_LOG_LEVEL": "error"}
    own |= {f"JACKDAW_SERVER_LIMITS_{name}_PER_MINUTE": "1000000" for name in ("TOKENS", "SEARCHES")}
    paths = Paths.locate(own)
    shutil.copytree(weights(MODEL, "all-minilm-l6-v2").folder, paths.weights)
    passages = (QUICK_SIZES if arguments.quick else SIZES)[-1]
    step(f"a server with {passages:,} passages")
    version = room / "version"
    write_index(version, around, passages, "f32")
    _write_texts(version, passages)
    index_bytes = sum(file.stat().st_size for file in version.iterdir() if file.name != CLUSTERS)
    Versions(paths.server_index).publish(version)
    made = subprocess.run(
        [sys.executable, "-c", SERVER, "token", "create", "bench", "--json"], env=own, check=True, capture_output=True
    )
    with running(SERVER, own, arguments.threads, json.loads(made.stdout)["token"]) as place:
        before = _peak_mb(place.pid)
        count = _asked(place.url, place.token, questions)
        peak = _peak_mb(place.pid)
    shutil.rmtree(paths.server_index)
    settings = Settings()
    bar = settings.retrieval.memory_mb + settings.model.prefix_mb + BESIDES_MB
    return {
        "index_bytes": index_bytes,
        "started_mb": before,
        "peak_mb": peak,
        "bar_mb": bar,
        "questions": len(questions),
        "passages_found": count,
        "missed": "" if peak <= bar else "memory.peak_mb",
    }


def write_index(folder: Path, around: Around, passages: int, codec: Codec) -> None:
    """Create the folder with the clusters and lists of the given number of generated vectors."""
    folder.mkdir(parents=True)
    clusters = clusters_for(passages)
    centroids = around.of(clusters, 1)
    sizes = np.full(clusters, passages // clusters, np.int64)
    sizes[: passages % clusters] += 1
    chance = np.random.default_rng(2)
    number = 0
    with (folder / LISTS).open("wb") as lists:
        for centroid, size in zip(centroids, sizes.tolist(), strict=True):
            noise = chance.standard_normal((size, len(centroid)), np.float32)
            drawn = centroid + SPREAD * noise / np.linalg.norm(noise, axis=1, keepdims=True)
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            lists.write(encoded(drawn, codec).tobytes())
            lists.write(np.arange(number, number + size, dtype=NUMBER).tobytes())
            number += size
    write_clusters(folder / CLUSTERS, centroids, Layout(sizes, centroids.shape[1], codec))


def _write_texts(version: Path, passages: int) -> None:
    filler = " ".join(["word" * 10] * 14)
    first = version / "000000.passages"
    of_each = min(TEXTS, passages)
    write_passages(first, [PassageText("Made", f"made#{row}", f"{filler} {row}") for row in range(of_each)])
    names = [first.name, *(f"{number:06}.passages" for number in range(1, passages // of_each))]
    for name in names[1:]:
        os.link(first, version / name)
    clusters = clusters_for(passages)
    built = datetime.now(UTC).isoformat(timespec="seconds")
    embedder = OnnxEmbedder.fingerprint
    facts = IndexMetadata(passages, clusters, 384, embedder, built, passages, 1, tuple(names), (), 0, relevance=-1.0)
    write_facts(version, facts)


def _asked(url: str, token: str, questions: Sequence[str]) -> int:
    """Ask the questions one after the other, each answered with four tokens; return the number of passages that were
    found.
    """
    count = 0
    with connect(
        url,
        additional_headers={"Authorization": f"Bearer {token}"},
        subprotocols=[Subprotocol(m.SUBPROTOCOL)],
        compression=None,
        proxy=None,
        open_timeout=60,
    ) as socket:
        session = DeviceSession(m.Hello(m.VERSIONS, "", "", "bench"))
        frames = list(session.connect())
        waiting = list(questions)
        is_over = True
        while waiting or not is_over:
            for frame in frames:
                socket.send(frame)
            received = session.receive(socket.recv(timeout=300))
            frames = list(received.frames)
            for event in received.events:
                match event:
                    case m.Failed():
                        raise RuntimeError(event.message)
                    case m.Finished():
                        is_over = True
                    case m.Sources():
                        count += len(event.passages)
            if is_over and waiting:
                is_over = False
                frames += session.send(m.Ask(session.next_request, waiting.pop(), True, 3, 4, 4))
    return count


def _peak_mb(pid: int) -> float:
    """Return the most megabytes that a process has had in memory, by the kernel's count."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return round(int(value.split()[0]) * 1024 / 1e6, 1)
    return 0.0
