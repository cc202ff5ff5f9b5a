"""The options of one question."""

from dataclasses import dataclass
from typing import Literal

from models.sampling import SamplingSettings

Arrangement = Literal["prompt", "rows", "cheapest"]
"""Arrangement of the passages: in one prompt, in a row each, or whichever is cheaper."""

Reach = Literal["asked", "question", "fitting"]
"""`link.together`: when data may leave for a question that goes beyond the files, without `--together`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A model's way of answering: from how many passages, in which arrangement, and whether it writes summaries of what
    was said about a subject, or quotes the files instead.
    """

    passages: int
    arrangement: Arrangement
    summaries: Literal["written", "quoted"] = "written"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one question. `relevance` is the lowest score a passage needs to be a source.

    `bare` is a fingerprint of all that decides an answer besides question, files and adapter; `adapter` is the hash of
    the chosen adapter, "" for none. With `fresh`, no kept answer is served. `public` lets the server be asked where the
    person's own files have nothing; kept answers from a server are served without it, as that sends nothing. Where the
    files hold a part, `reach` says whether data may leave for the rest. `together` asks for a joint answer whatever the
    question: drafts of the answer then leave and, with `open`, the distributions they were drawn from.
    """

    plan: Plan
    sampling: SamplingSettings
    max_tokens: int
    relevance: float
    evidence: bool = True
    bare: str = ""
    adapter: str = ""
    fresh: bool = False
    public: bool = True
    together: bool = False
    reach: Reach = "asked"
    open: bool = False

    @property
    def fingerprint(self) -> str:
        """Fingerprint of what decides an answer besides question and files: an answer with another one is not served
        again.
        """
        return self.fingerprint_with(self.adapter)

    def fingerprint_with(self, adapter: str) -> str:
        """Return the fingerprint of answers under that adapter: the engine may have refused the chosen one."""
        return f"{self.bare} {adapter}".rstrip()
