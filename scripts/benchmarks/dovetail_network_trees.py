"""Draft trees of a trained network in the benchmark `dovetail`, as in the paper's tables: the tokens a pass over such a
tree gives, alone and with what lookup drafts merged into it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from device_app.inference.local import LocalSource
from models.chat_template import parse
from models.features import Features
from models.llama_features import LlamaFeatureEngine
from models.sampling import SamplingSettings
from models.speculative.choice import Acceptance
from models.speculative.lookup_tree import LookupTree, later_siblings
from models.speculative.network import Floats, Network, States
from models.speculative.tree import ROOT, DraftTree, grown, merged
from scripts.benchmarks.dovetail_arms import Answer, drawn
from scripts.benchmarks.dovetail_trained import Trained

_WIDTH: Final = 10
"""The number of nodes that are expanded in each layer, and of children that each of them gets."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a tree: its depth, and the number of its nodes without the root."""

    depth: int
    candidates: int

    def __str__(self) -> str:
        return f"depth {self.depth}, {self.candidates} candidates"


SIZES: Final = (Size(4, 7), Size(7, 15), Size(7, 60))
"""The paper's small tree, its usual one, and its largest."""


def figures(
    trained: Trained, engine: LlamaFeatureEngine, answers: Sequence[Answer]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return `tokens_per_pass` for the answers and, under `network_trees_warm`, for answers to the same prompts that
    are drawn at temperature 1.
    """
    source = LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
    warm = [drawn(source, answer, SamplingSettings(temperature=1.0, seed=seed)) for seed, answer in enumerate(answers)]
    engine.clear(0)
    again = Trained.of(trained.path, engine, warm)
    network = trained.network()
    return {
        "network_trees": tokens_per_pass(network, answers, trained.features),
        "network_trees_warm": tokens_per_pass(network, warm, again.features),
    }


def tokens_per_pass(
    network: Network, answers: Sequence[Answer], features: Mapping[tuple[int, ...], Features]
) -> dict[str, dict[str, float]]:
    """Return, for each size of trees, the tokens a pass of a replay of the answers: with trees of the network alone,
    and with what lookup drafts merged into them (as many nodes in all). `features` are those of the answers' tokens.

    As in Jackdaw, the network reads the answer and not its prompt.
    """
    table: dict[str, dict[str, float]] = {}
    for size in SIZES:
        own: dict[str, float] = {}
        for name, with_lookup in (("network", False), ("with_lookup", True)):
            acceptance = Acceptance()
            passes = [
                _passes(network, answer, features[answer.tokens], size, acceptance if with_lookup else None)
                for answer in answers
            ]
            own[name] = round(sum(len(answer.tokens) for answer in answers) / sum(passes), 3)
        table[str(size)] = own
    return table


def _passes(network: Network, answer: Answer, features: Features, size: Size, acceptance: Acceptance | None) -> int:
    """Return the number of passes in which the answer is computed; with lookup's `acceptance`, its chain is merged into
    the network's tree.
    """
    lookup = LookupTree([answer.read], acceptance, later_siblings(), 1) if acceptance else None
    held, passes, place = network.held(), 0, 0  # place: of the token that is drawn last
    while place < len(answer.tokens):
        if lookup:
            lookup.append(answer.tokens[place])
        trees = [_grown(network, held, answer, features, place, size)] if place else []
        if lookup:
            trees.append(lookup.tree(size.depth))
        tree = merged(trees).likeliest(size.candidates) if trees else DraftTree()
        passes, place, node = passes + 1, place + 1, ROOT
        while place < len(answer.tokens):
            child = tree.child(node, answer.tokens[place])
            if child is None:
                break
            if lookup:
                lookup.append(answer.tokens[place])
            node, place = child, place + 1
    return passes


def _grown(network: Network, held: States, answer: Answer, features: Features, last: int, size: Size) -> DraftTree:
    """Return the tree that the network grows behind the answer's token `last`; `held` gets the states of the tokens up
    to it.
    """
    first = len(answer.read)
    read = np.arange(held.length + 1, last + 1)
    predicted, logits = network.step(held, features[read - 1], np.array(answer.tokens)[read], first + read)
    settled = held.length
    known: dict[tuple[int, ...], tuple[Floats, int]] = {(): (predicted[-1], ROOT)}  # feature, and place of the states

    def proposed(paths: Sequence[tuple[int, ...]]) -> list[list[tuple[int, float]]]:
        if paths[0] == ():
            return [_likeliest(network, logits[-1])]
        visible = np.zeros((len(paths), held.length + len(paths)), np.bool_)
        visible[:, :settled] = True
        for number, path in enumerate(paths):
            visible[number, held.length + number] = True
            for length in range(1, len(path)):
                visible[number, known[path[:length]][1]] = True
        before = np.stack([known[path[:-1]][0] for path in paths])
        at, depth = held.length, len(paths[0])
        after, own = network.step(
            held, before, [path[-1] for path in paths], np.full(len(paths), first + last + depth), visible
        )
        known.update({path: (after[number], at + number) for number, path in enumerate(paths)})
        return [_likeliest(network, row) for row in own]

    tree = grown(proposed, _WIDTH, size.depth, size.candidates)
    held.length = settled
    return tree


def _likeliest(network: Network, logits: npt.NDArray[np.float32]) -> list[tuple[int, float]]:
    """Return the likeliest tokens with their log probabilities, the likeliest first."""
    best = np.argpartition(logits, -_WIDTH)[-_WIDTH:]
    best = best[np.argsort(-logits[best])]
    total = logits.max() + np.log(np.exp(logits - logits.max()).sum())
    return [(int(network.vocabulary[place]), min(0.0, float(logits[place] - total))) for place in best]
