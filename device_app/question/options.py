"""What one question may ask for."""

import hashlib
from dataclasses import dataclass
from typing import Literal

from device_app.inference import sureness
from device_app.inference.prompting import Arrangement
from device_app.knowledge import proof
from device_app.settings import Settings
from models import catalog
from models.sampling import SamplingSettings
from shared.prompt import SYSTEM

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
    def recipe(self) -> str:
        """Names all besides question and files that decides an answer: only one of the same recipe is served again."""
        return self.recipe_with(self.adapter)

    def recipe_with(self, adapter: str) -> str:
        """The recipe of what is written with that adapter in force: the one that was to be may have been refused."""
        return f"{self.bare} {adapter}".rstrip()


def chosen(settings: Settings, weights: catalog.Weights, adapter: str) -> Options:
    """How questions are answered under these settings, with the adapter of this hash. Raises UsageError."""
    answer, cache, link = settings.answer, settings.cache, settings.link
    model = catalog.find(settings.model.name, "engine")
    plan = Plan(
        passages=answer.passages or model.passages,
        arrangement=model.arrangement if answer.arrangement == "auto" else answer.arrangement,
        summaries=model.summaries if answer.summaries == "auto" else answer.summaries,
    )
    sampling = SamplingSettings(
        temperature=answer.temperature,
        top_k=answer.top_k,
        top_p=answer.top_p,
        min_p=answer.min_p,
        repetition_penalty=answer.repetition_penalty,
        seed=answer.seed,
    )
    embedder = catalog.find(settings.embedder.name, "embedder")
    hashes = [sorted(weights.hashes(entry).items()) for entry in (model, embedder)]
    cut = answer.max_tokens, answer.relevance, answer.evidence
    states = settings.model.kv, settings.model.context, cache.reuse
    decides = (SYSTEM, hashes, *states, plan, sampling, cut, sureness.LIMITS, proof.HOLDS)
    return Options(
        plan=plan,
        sampling=sampling,
        max_tokens=answer.max_tokens,
        relevance=answer.relevance,
        evidence=answer.evidence,
        bare=f"{model.name} {hashlib.blake2b(repr(decides).encode(), digest_size=8).hexdigest()}",
        adapter=adapter,
        reach=link.together,
        open=link.privacy == "open",
    )
