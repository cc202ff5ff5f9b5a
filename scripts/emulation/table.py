"""Tests, inside the emulated system, which results are exact with a build of llama.cpp, and what the self-test reports.

Prints one JSON object: the library and how it is bound; for each type of attention states, how many prompts had the
same logits after cached states as without, and the self-test's result; and the chosen setting.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Final, get_args

import numpy as np

from models.engine import Engine, KVType
from models.exact_loading import Setting, choice, load
from models.exactness import Verdicts
from models.llama_bindings import arithmetic, described
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel

JOINS: Final = tuple((16 + part, 20 + 2 * part, 5 + part) for part in range(6))
"""The prompts to test, each as the numbers of tokens of its instructions, its passage and its question. The question is
read after the cached states of the first two. Kernels round differently depending on the number of tokens in a pass,
often on whether it is even.
"""

_TEXT: Final = (
    "The heron stood still by the cold river while the ferry crossed. Nobody on the quay remembered who had called it, "
    "nor why the lamp at the north end was lit so early, but the boy had counted eleven boats since the morning bell."
)


def joins(engine: Engine) -> int:
    """Return how many of the test prompts have the same logits when their question is read after cached states as when
    the whole prompt is read at once, in the same cells of the KV buffer.
    """
    tokens, exact = engine.tokenize(_TEXT * 2), 0
    for head, passage, question in JOINS:
        stop = head + passage
        whole = engine.prefill(0, tokens[: stop + question])
        states = [engine.slice(0, 0, head), engine.slice(0, head, stop)]
        engine.clear(0)
        engine.join(0, states)
        exact += np.array_equal(engine.prefill(0, tokens[stop : stop + question]), whole)
        engine.clear(0)
    return exact


def main(path: Path) -> None:
    """Print the table of one build for a model file."""

    def build(setting: Setting) -> LlamaCppEngine:
        model = LlamaModel(path, repacks=setting.repacks)
        return LlamaCppEngine(model, context=512, threads=1, kv_type=setting.kv)

    table: dict[str, object] = {"library": described()}
    with tempfile.TemporaryDirectory() as folder:
        for kv in get_args(KVType):
            engine = build(Setting(kv))
            exact, verdict = joins(engine), Verdicts(Path(folder)).tested(engine, arithmetic())
            engine.close()
            table[kv] = {"exact": exact, "of": len(JOINS), "failed": sorted(verdict.inexact)}
            print(kv, table[kv], file=sys.stderr, flush=True)
        engine = load(build, "f16", choice(Path(folder), path, "f16", None))
        table["taken"] = {"kv": engine.info.kv_type, "repacks": engine.info.repacks, "loss": engine.info.verdict.loss}
        engine.close()
    print(json.dumps(table))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
