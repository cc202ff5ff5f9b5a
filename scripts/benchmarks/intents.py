"""Measures which requests are recognised as needing no file (`device_app.english.intents`).

`files`: questions that files answer, per set, and how many of them are wrongly `taken` as needing none. `assistant`:
the first turns of requests that people send to an assistant, with the texts that they contain; `recognised` is the
share of requests recognised as needing no file, `alone` the share recognised if the contained texts are removed. The
rules were fitted to the `even` lines of these sets, counted from 0; nobody has looked at the `odd` ones.
"""

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from device_app.english.intents import needs_no_file
from scripts.datasets.retrieval_sets import lines
from scripts.places import CannotRun

MOST_TAKEN, LEAST_RECOGNISED = 5, 0.7
"""The required limits: the greatest share taken of questions that files answer, and the least share recognised of
requests to an assistant.
"""


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as files.SET.{questions,taken}, assistant.{even,odd,all}.{requests,recognised,alone} and `ok`,
    which is true if the required limits are met.
    """
    if not arguments.data:
        raise CannotRun("the benchmark needs --data with qmsum, email, lihuaworld and prompts")
    files = {name: _taken(questions) for name, questions in _files(arguments.data).items()}
    requests = [list(lines(arguments.data / "prompts" / f"{name}.jsonl")) for name in ("mt_bench", "instructions")]
    halves = {name: [row for rows in requests for row in rows[first::2]] for first, name in enumerate(("even", "odd"))}
    assistant = {name: _recognised(rows) for name, rows in {**halves, "all": [*chain(*requests)]}.items()}
    taken = sum(counts["taken"] for counts in files.values())
    ok = taken <= MOST_TAKEN and assistant["odd"]["recognised"] >= LEAST_RECOGNISED
    return {"files": files, "assistant": assistant, "ok": ok}


def _files(data: Path) -> dict[str, list[str]]:
    meetings = (json.loads(path.read_text(encoding="utf-8")) for path in sorted((data / "qmsum").glob("*.json")))
    return {
        "qmsum": [query["query"] for meeting in meetings for query in meeting["specific_query_list"]],
        "email": [line["query"] for line in lines(data / "email" / "queries.jsonl")],
        "lihuaworld": [line["question"] for line in lines(data / "lihuaworld" / "queries.jsonl")],
    }


def _taken(questions: Sequence[str]) -> dict[str, int]:
    return {"questions": len(questions), "taken": sum(map(needs_no_file, questions))}


def _recognised(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    whole, alone = [sum(map(needs_no_file, texts)) / len(rows) for texts in zip(*map(_texts, rows), strict=True)]
    return {"requests": len(rows), "recognised": round(whole, 4), "alone": round(alone, 4)}


def _texts(row: dict[str, Any]) -> Iterator[str]:
    """Yield a request with the text that it contains, and without the text."""
    asked = row["turns"][0] if "turns" in row else row["instruction"]
    given = "" if "turns" in row else row["instances"][0]["input"]
    yield f"{asked}\n{given}" if given else asked
    yield asked
