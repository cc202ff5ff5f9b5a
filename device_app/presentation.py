"""Words that the command line and the app put on the same facts. Imports nothing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OriginWords:
    """Who answered: in a word on the app's badge, in the line below an answer, and in a sentence that explains it."""

    badge: str
    line: str
    sentence: str


ORIGINS = {
    "qa_bank": OriginWords("answered before", "answered before", "with what was kept"),
    "device": OriginWords("device", "", "on this device"),
    "cloud": OriginWords("server", "the server", "by the server"),
    "migrated": OriginWords("moved", "moved", "by both sides, one after the other"),
    "aggregated": OriginWords("together", "together", "by both sides"),
}
"""By an answer's `origin`, as `ask --json` prints it."""

STEPS = {"in vain": "no answer"}
"""Steps of an answer's trace whose names, which scripts rely on, do not speak for themselves."""
