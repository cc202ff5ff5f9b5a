"""Decides whether tokens are drafted for an engine's answers, by the measured costs of the engine and the drafters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from models.decoder import Decoder
from models.engine import Engine, EngineInfo
from models.speculative.answer_draft import AnswerDraft
from models.speculative.choice import Acceptance
from models.speculative.costs import DraftCosts, KnownCosts, PassCosts, Samples, is_steady, measured, measured_drafts
from models.speculative.draft_model import DraftModel, Learned
from models.speculative.draft_setting import WithoutModel
from shared.errors import GaveWay
from shared.trace import DraftCounts


@dataclass(slots=True)
class Drafting:
    """Decides whether tokens are drafted for an engine's answers, by the measured costs of its passes.

    `auto` drafts if that saves time and leaves the text the same to the bit; `lookup` drafts if that saves time.
    `known` is the place where costs are stored; `costs` are None until they are measured. `acceptance` holds the share
    of tokens drafted by prompt lookup that were right. `model` drafts, too, where prompt lookup is worse; `refused`
    says why the model that the settings name does not draft.
    """

    mode: WithoutModel = "off"
    known: KnownCosts | None = None
    costs: PassCosts | None = None
    acceptance: Acceptance = field(default_factory=Acceptance)
    model: DraftModel | None = None
    refused: str = ""
    _samples: Samples = field(default_factory=dict)
    _draft_samples: Samples = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load the costs that were measured earlier, and the stored statistics of the drafting model."""
        self._load()
        if self.model and self.known and (learned := self.known.load_fact(f"{self.model.key} learned", Learned)):
            self.model.go_on(learned)

    def may(self, info: EngineInfo) -> bool:
        """Return whether drafting is on and possible. With an engine that recomputes after each rollback, it is not."""
        return self.mode != "off" and info.sliceable and info.verdict.trusts("rollback")

    def is_worth_it(self, info: EngineInfo) -> bool:
        """Return whether drafting pays with this engine: its costs are measured, and `auto` also needs exact passes."""
        return self.may(info) and self.costs is not None and (self.mode == "lookup" or self.costs.is_exact)

    def costs_if_used(self, engine: Engine) -> PassCosts | None:
        """Return the costs by which drafts are chosen now; None if nothing is drafted now.

        `auto` drafts only while one sequence holds tokens: a rejected draft frees cells of the shared KV buffer, and
        another sequence that fills them would compute its sums in another order.
        """
        if not self.is_worth_it(engine.info):
            return None
        held = sum(engine.length(sequence) > 0 for sequence in range(engine.info.sequences))
        return self.costs if self.mode == "lookup" or held == 1 else None

    def is_unmeasured(self, info: EngineInfo) -> bool:
        """Return whether `measure` has to be called: neither this process nor another has measured the costs."""
        if not self.may(info) or self.known is None:
            return False
        self._load()
        return self.costs is None or self._is_model_unmeasured(info)

    def measure(self, engine: Engine) -> PassCosts:
        """Measure the costs that are not known yet, which empties the engine's sequences, and return the costs of
        passes. Raises EngineError, GaveWay.

        They are stored unless other processes disturbed the measurement. A drafting model that fails, or that would
        never draft by these costs, is dropped and freed.
        """
        if self.costs is None:
            self.costs = measured(engine, self._samples)
            if self.known and is_steady(self._samples):
                self.known.keep(self.costs)
            self._samples.clear()
        if self.model and not self.is_worth_it(engine.info):
            self.model.close()
            self.model = None
        if self.model and self._is_model_unmeasured(engine.info):
            self._measure_model(engine, self.model)
        return self.costs

    def answer(
        self, texts: Sequence[Sequence[int]], decoder: Decoder, counts: DraftCounts | None = None
    ) -> AnswerDraft:
        """Return the draft of an answer (see `AnswerDraft`)."""
        return AnswerDraft(texts, decoder, self.acceptance, self.model, counts)

    def close(self) -> None:
        """Free the drafting model, and store its statistics."""
        if self.model:
            if self.known and (learned := self.model.learned):
                self.known.keep_fact(f"{self.model.key} learned", learned)
            self.model.close()

    def _measure_model(self, engine: Engine, model: DraftModel) -> None:
        try:
            model.costs = measured_drafts(engine, model.start, self._draft_samples)
        except GaveWay:
            raise
        except Exception as error:  # as in an answer: a drafter of any kind may fail in any way
            model.fail(error)
        else:
            if self.known and is_steady(self._draft_samples):
                self.known.keep_fact(model.key, model.costs)
        self._draft_samples.clear()

    def _is_model_unmeasured(self, info: EngineInfo) -> bool:
        return bool(self.model and not self.model.failed and self.model.costs is None and self.is_worth_it(info))

    def _load(self) -> None:
        if self.known is None or self.mode == "off":
            return
        if self.costs is None:
            self.costs = self.known.load()
        if self.model and self.model.costs is None:
            self.model.costs = self.known.load_fact(self.model.key, DraftCosts)
