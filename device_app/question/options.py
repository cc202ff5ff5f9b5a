"""What one question may ask for."""

from dataclasses import dataclass
from typing import Literal

from models.sampling import SamplingSettings

Arrangement = Literal["prompt", "rows", "cheapest"]
"""Passages in one prompt, in rows of their own, or as is cheaper."""

Reach = Literal["asked", "question", "fitting"]
"""`link.together`: what may leave for a question that goes beyond the files, though it was not asked together."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model answers: from how many passages, in one prompt, in rows of their own, or as is cheaper; and whether
    it sums up what was said of something, or the files are quoted.
    """

    passages: int
    arrangement: Arrangement
    summaries: Literal["written", "quoted"] = "written"


@dataclass(frozen=True, slots=True)
class Options:
    """What one question may ask for. `relevance` is the score under which a passage is no source.

    `bare` names all that decides an answer besides question, files and adapter; `adapter` is the hash of the one that
    is to be in force, "" for none. `fresh` serves no answer that was kept.
    `public` lets the server be asked where the person's own files have nothing; what it once answered is served
    without, as that sends nothing. Where they have something and more is asked for, `reach` says what may leave.
    `together` lets the server write along whatever is asked: then drafts of the answer leave, and what they were drawn
    from where the person is `open`.
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
        """Names what decides an answer besides question and files: one of another fingerprint is not served again."""
        return self.fingerprint_with(self.adapter)

    def fingerprint_with(self, adapter: str) -> str:
        """The fingerprint of what is written under that adapter: the one that was chosen may have been refused."""
        return f"{self.bare} {adapter}".rstrip()
