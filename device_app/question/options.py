"""The options of one question."""

from dataclasses import dataclass
from typing import Literal

from models.sampling import SamplingSettings
from shared.protocol.messages import ChosenPipeline

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

    `bare` names all that decides an answer besides question, files and adapter; `adapter` is the hash of the one that
    is to be in force, "" for none. `fresh` serves no answer that was kept.
    `public` lets the server be asked where the person's own files have nothing; what it once answered is served
    without, as that sends nothing. Where they have something and more is asked for, `reach` says what may leave.
    `together` lets the server write along whatever is asked: then drafts of the answer leave, and what they were drawn
    from where the person is `open`. `pipeline` is how the server is to come to what it says, "" as it likes best.
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
    pipeline: ChosenPipeline = ""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of what decides an answer besides question and files: an answer with another one is not served
        again.
        """
        return self.fingerprint_with(self.adapter)

    def fingerprint_with(self, adapter: str) -> str:
        """Return the fingerprint of answers under that adapter: the engine may have refused the chosen one."""
        return f"{self.bare} {adapter}".rstrip()
