"""Measures how many of the sentences quoted from meetings state the outcome that they are quoted for.

The meetings are the transcripts in `qmsum` under --data. Somebody who has not seen the program judged each sentence;
`minutes_verdicts.json` holds the verdicts by the hash of meeting and sentence, not the text. `quoted`: the sentences of
each outcome; `judged`: those that have a verdict; `right`: the share of these that state an outcome. The wordings by
which sentences are found were chosen with these meetings in view, so the share may be lower for other meetings.
"""

import hashlib
import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from device_app.english.outcomes import OUTCOMES, Outcome
from device_app.knowledge.minutes import minutes
from device_app.knowledge.quotes import Quote
from scripts.places import CannotRun
from shared.types import StoredPassage

LEAST_RIGHT: Final = 0.8

_VERDICTS = Path(__file__).with_name("minutes_verdicts.json")


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures `meetings`, `quoted.OUTCOME`, `judged`, `right` and `missed`."""
    folder = arguments.data and arguments.data / "qmsum"
    if not folder or not folder.is_dir():
        raise CannotRun("the benchmark needs --data with qmsum")
    verdicts: dict[str, bool] = json.loads(_VERDICTS.read_text(encoding="utf-8"))
    paths = sorted(folder.glob("*.json"))
    lines = [(kind, key(path.stem, quote)) for path in paths for kind, quote in quoted(path)]
    judged = [verdicts[each] for _, each in lines if each in verdicts]
    right = round(sum(judged) / len(judged), 3) if judged else 0.0
    return {
        "meetings": len(paths),
        "quoted": dict(Counter(kind for kind, _ in lines)),
        "judged": len(judged),
        "right": right,
        "missed": [] if right >= LEAST_RIGHT else ["right"],
    }


def quoted(path: Path) -> Iterator[tuple[Outcome, Quote]]:
    """Yield the sentences quoted from a meeting; each turn is a passage."""
    turns = json.loads(path.read_text(encoding="utf-8"))["meeting_transcripts"]
    people = tuple(dict.fromkeys(turn["speaker"] for turn in turns))
    passages = [
        StoredPassage(
            place, f"{turn['speaker']}: {turn['content']}", place, None, None, 1, path.stem, "chat", None, people, ""
        )
        for place, turn in enumerate(turns)
    ]
    for kind, quotes in minutes(passages, OUTCOMES).items():
        for quote in quotes:
            yield kind, quote


def key(meeting: str, quote: Quote) -> str:
    """Return the key under which `minutes_verdicts.json` says whether a sentence of a meeting is an outcome."""
    return hashlib.sha256(f"{meeting}\n{quote.text}".encode()).hexdigest()[:16]
