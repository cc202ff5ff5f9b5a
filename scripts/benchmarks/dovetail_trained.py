"""The arm `trained` of the benchmark `dovetail`: Jackdaw's own choice, with a trained draft network beside lookup."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np

from models import tensor_file
from models.engine import Ends, EngineInfo, Logits
from models.features import Features, PassFeatures
from models.llama_features import LlamaFeatureEngine
from models.speculative.costs import DraftCosts, PassCosts, measured_drafts
from models.speculative.draft_model import DraftModel
from models.speculative.network import DraftNetwork
from models.speculative.network_drafter import NetworkDrafter
from models.speculative.network_file import about, load
from scripts.benchmarks.dovetail_arms import Answer, Passes, Script, drafting, replayed
from scripts.inflation.networks import inflated
from scripts.inflation.shapes import SHAPES

_NAME: Final = "trained network"


@dataclass(frozen=True, slots=True)
class OnTarget:
    """A trained network for a target: what it costs there, and what is needed for replays: the features of the answers,
    by their tokens, and the tokens that end an answer.
    """

    network: DraftNetwork
    costs: DraftCosts
    features: Mapping[tuple[int, ...], Features]
    ends: Container[int]

    def model(self, engine: PassFeatures) -> DraftModel:
        """Return the network as a drafting model that has learned nothing yet."""
        start = partial(NetworkDrafter, self.network, engine, self.ends)
        return DraftModel(_NAME, _NAME, start, lambda: None, self.costs)

    def replayer(self, costs: PassCosts, info: EngineInfo) -> Callable[[Answer], Passes]:
        """Return a function that replays one answer after the other with the drafts of the network and of lookup. What
        was accepted is learnt over answers.
        """
        scripts: list[_FeatureScript] = []
        model = DraftModel(_NAME, _NAME, lambda text: self._drafter(scripts[-1], text), lambda: None, self.costs)
        drafts = drafting("trained", costs, model)

        def passes(answer: Answer) -> Passes:
            features = self.features[answer.tokens]
            scripts.append(_FeatureScript(info, answer, features, self.network.shape.width))
            return replayed(answer, drafts, info, scripts[-1])

        return passes

    def _drafter(self, engine: PassFeatures, text: Sequence[int]) -> NetworkDrafter:
        return NetworkDrafter(self.network, engine, self.ends, text)


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained draft network of the default model, in `path`, and the features of some of its answers, by their
    tokens.
    """

    path: Path
    features: Mapping[tuple[int, ...], Features]

    @classmethod
    def of(cls, path: Path, engine: LlamaFeatureEngine, answers: Sequence[Answer]) -> Self:
        """Return the network, with the answers' features. Raises WeightsMissing, WeightsDamaged and DraftRejected."""
        load(path, engine.info)
        return cls(path, {answer.tokens: _features(engine, answer) for answer in answers})

    def network(self, shape: str = "") -> DraftNetwork:
        """Return the network, inflated to one of `scripts.inflation.shapes.SHAPES` if its name is given."""
        metadata, arrays = tensor_file.read(self.path)
        own = about(metadata).shape
        if shape in SHAPES:
            own, arrays = inflated(own, arrays, SHAPES[shape])
        return DraftNetwork(own, arrays)

    def on(self, engine: LlamaFeatureEngine, shape: str) -> OnTarget:
        """Return the network for the target in `engine`: that of the default model, or an inflated one for a target of
        another shape.
        """
        network, ends = self.network(shape), Ends(engine)
        costs = measured_drafts(engine, partial(NetworkDrafter, network, engine, ends), {})
        known = {token for token in network.vocabulary.tolist() if token in ends}  # replays outlast the engine
        return OnTarget(network, costs, self.features, known)


class _FeatureScript(Script):
    """A stand-in for an engine in a replay that also gives an answer's features, padded to a width. Tokens that are not
    the answer's have zeros.
    """

    def __init__(self, info: EngineInfo, answer: Answer, features: Features, width: int) -> None:
        super().__init__(info, answer.read)
        self._begin, self._own, self._width, self._passed = len(answer.read), features, width, 0

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self._passed = 1
        return super().decode(tokens)

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        self._passed = len(tokens[0])
        return super().verify(tokens)

    def features(self, sequence: int) -> Features:
        place = self.length(sequence) - self._passed - self._begin
        own = self._own[place : place + self._passed]
        return np.pad(own, ((0, self._passed - len(own)), (0, self._width - own.shape[1])))


def _features(engine: LlamaFeatureEngine, answer: Answer) -> Features:
    """Return the features of the answer's tokens, shape (tokens, width)."""
    engine.clear(0)
    engine.prefill(0, answer.read)
    features = engine.read(0, answer.tokens)[1]
    engine.clear(0)
    return features
