"""What one question may ask for."""

from dataclasses import dataclass
from typing import Literal

from device_app.fitting import Arrangement
from models.sampling import SamplingSettings

Reach = Literal["asked", "question", "fitting"]
"""`link.together`: what may leave for a question that goes beyond the files, though it was not asked together."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model answers: from how many passages, in one prompt, in rows of their own, or as is cheaper."""

    passages: int
    arrangement: Arrangement


@dataclass(frozen=True, slots=True)
class Options:
    """What one question may ask for. `relevance` is the score under which a passage is no source.

    `recipe` names everything besides question and files that decides an answer: only one of the same recipe may be
    served again. It ends with the hash of the `adapter` that is to be in force, "" for none. `fresh` serves none.
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
    recipe: str = ""
    adapter: str = ""
    fresh: bool = False
    public: bool = True
    together: bool = False
    reach: Reach = "asked"
    open: bool = False

    def recipe_with(self, adapter: str) -> str:
        """The recipe of what is written with that adapter in force: the one that was to be may have been refused."""
        return adapted(self.recipe.removesuffix(self.adapter).rstrip(), adapter)


def adapted(recipe: str, adapter: str) -> str:
    """The recipe of the bare model, with an adapter; "" for none."""
    return f"{recipe} {adapter}".rstrip()
