"""The options of one question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypedDict

if TYPE_CHECKING:
    from models.sampling import SamplingSettings
    from shared.protocol.messages import ChosenPipeline

Arrangement = Literal["prompt", "rows", "cheapest"]
"""How passages are arranged: all in one prompt, each in a row (engine sequence) of its own, or whichever is cheaper."""

Reach = Literal["asked", "question", "fitting"]
"""The values of the setting `link.together`: what may be sent if the files answer only a part of a question.

The option `--together` overrides it.
"""

AGREE: Final = "link.together = fitting"
"""The setting by which a person agrees that drafts of joint answers leave the device."""

Aggregation = Literal["auto", "both", "device", "server", "scheduled"]
"""The values of the setting `link.aggregation`: which side decides the tokens of a
joint answer (DRAGON's Algorithm 1).
"""


SHORT_ANSWER: Final = 64
"""Passages are left out of a prompt until an answer of this many tokens fits; a longer answer is cut."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model answers: how many passages it gets, how they are arranged, and whether it writes `summaries`.

    If it does not, a summary of what was said about a subject is quoted from the files instead.
    """

    passages: int
    arrangement: Arrangement
    summaries: Literal["written", "quoted"] = "written"


class Asked(TypedDict, total=False):
    """The options that a person chooses for one question; `Options` explains them."""

    fresh: bool
    public: bool
    together: bool
    pipeline: ChosenPipeline
    model_only: bool
    send: bool


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one question. `relevance` is the lowest score that a passage needs to be a source.
    `evidence`: the sentence that supports the answer is searched for.

    `bare` identifies everything that determines an answer besides question, files and adapter; `adapter` is the hash of
    the adapter to use, "" for none. `fresh` uses no kept answer. `public` lets the server be asked if the person's
    own files have nothing; the server's kept answers are served without that permission too, as nothing is sent for
    them. `reach` says which data may leave if the files answer only a part. `together` lets both sides write the answer
    in any case: then drafts of the answer leave and, with `open`, their distributions; `aggregation` then says who
    decides tokens. `pipeline` is the server's pipeline; "" leaves the choice to the server. `model_only` lets the model
    answer any question without files. `unsuited` says, for the person, why this device's model does not do so by
    itself, and which model would; "" if the model is large enough. `send` lets such a request be sent to the server,
    whatever names it contains. `weights_every` is the number of tokens after which the weights of several rows and,
    with `open`, of both sides are computed again; 0 for never.
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
    aggregation: Aggregation = "auto"
    pipeline: ChosenPipeline = ""
    model_only: bool = False
    send: bool = False
    unsuited: str = ""
    weights_every: int = 0

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything that determines an answer besides question and files.

        A kept answer with another fingerprint is not given.
        """
        return self.fingerprint_with(self.adapter)

    def fingerprint_with(self, adapter: str) -> str:
        """Return the fingerprint for answers with another adapter, as the engine may have refused the chosen one."""
        return f"{self.bare} {adapter}".rstrip()
