"""Judges the results from the emulated aarch64 system, and writes them as a Markdown page."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from scripts.emulation.builds import BUILDS, LAYERS

_EARLIER: Final = """How many of the prompts differ depends on the number of tokens in each pass. In an earlier trial
with other prompts the same settings were exact, except q8_0 with `dotprod+fp16 repack`, which the self-test rejects as
well: f16 was exact in 0 of 6 with both dotprod builds and 3 of 6 with i8mm, q8_0 in 3 of 6 with `dotprod+fp16 repack`
and i8mm.
"""

Judgement = Literal["right", "cautious", "wrong"]

_HEAD: Final = f"""# On aarch64

The last result of `scripts/aarch64 --write`, on an emulated processor (qemu-user). What is exact depends on the
instructions that a build uses, which qemu computes as a processor does; how long it takes says nothing.

Each build is laid out as Termux's package llama-cpp: libraries and headers under Termux's `PREFIX`, kernels that are
loaded at run time. llama-cpp-python is not installed.

## What is exact with which build

Prompts read with attention states against the same prompts read at once: how many of six have the same logits, to the
bit. Weights: the first {LAYERS} layers of the default model, Q8_0. Then what the self-test found, and whether that is
right (*cautious*: it fails for passes that the six prompts do not have). Last, the setting that is taken for f16.

| libggml-cpu | f16 | self-test | q8_0 | self-test | taken | run |
|---|---|---|---|---|---|---|
"""


def judged(row: Mapping[str, Any]) -> Judgement:
    """Return whether the self-test's verdict on one type of attention states is right, given how many of the prompts
    had exact logits after cached states.
    """
    if row["exact"] < row["of"]:
        return "right" if row["failed"] else "wrong"
    return "cautious" if row["failed"] else "right"


def page(results: Mapping[str, Any]) -> str:
    """Return the results as Markdown. Steps that were not run are listed as not run."""
    rows = "".join(_row(name, results["exactness"].get(name)) for name in BUILDS)
    parts = (*_library(results["exactness"]), *_contract(results.get("contract")), *_question(results.get("question")))
    return _HEAD + rows + "\n".join(["", _EARLIER, *parts])


def _row(name: str, table: Mapping[str, Any] | None) -> str:
    if table is None:
        return f"| {name} | not run | | | | | |\n"
    cells = [name]
    for kv in ("f16", "q8_0"):
        row = table[kv]
        said = f"fails: {', '.join(row['failed'])}" if row["failed"] else "exact"
        cells += [f"{row['exact']} of {row['of']}", f"{said} ({judged(row)})"]
    taken = table["taken"]
    cells.append(
        taken["kv"] + ("" if taken["repacks"] else ", not repacked") + (", no states" if taken["loss"] else "")
    )
    cells.append(f"{table['date']}, {table['revision']}")
    return f"| {' | '.join(cells)} |\n"


def _when(result: Mapping[str, Any]) -> str:
    return f"({result['date']}, revision {result['revision']})"


def _library(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for library in sorted({table["library"] for table in tables.values()}):
        yield f"The engine used {library}."
        yield ""


def _contract(contract: Mapping[str, Any] | None) -> Iterator[str]:
    yield "## The engine's contract"
    yield ""
    if contract is None:
        yield "Not run."
    else:
        yield f"`tests/models/test_engines.py` with {contract['build']} and the short model: {contract['said']}"
        yield _when(contract)
        yield from (f"\n    {line}" for line in contract["failed"])
    yield ""


def _question(question: Mapping[str, Any] | None) -> Iterator[str]:
    yield "## A question"
    yield ""
    if question is None:
        yield "Not run."
    else:
        build = question["build"]
        yield "After `jackdaw add scripts/sample_life` on the host, this was asked with `jackdaw ask` in the emulated"
        yield f"system, with {build} and the default model:"
        yield ""
        yield f"> {question['text']}"
        yield ">"
        yield f"> {question['answer']} (origin: {question['origin']})"
        yield ""
        yield f"`jackdaw models info` then says: {question['exactness']}."
        yield _when(question)
    yield ""
