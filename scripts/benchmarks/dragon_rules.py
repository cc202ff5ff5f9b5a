"""The product's rules in a single process that has both sides' passages: acceptance of drafts, size of their
distributions, distance of the emitted tokens from the exact mixture, and the expected greedy answers.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from models.decoder import Decoder
from models.drafts import draft, likeliest
from models.engine import Engine, Logits
from models.sampling import SamplingSettings, distribution
from shared.aggregation import rules
from shared.aggregation.distribution import encode, quantise
from shared.aggregation.messages import Draft, Rule
from shared.side import Side

SIDES: tuple[Side, Side] = ("device", "server")


@dataclass(slots=True)
class Played:
    """An answer; for each of its tokens, whether the device's and the server's draft equalled it; and the sizes in
    bytes of the server's distributions.
    """

    tokens: list[int] = field(default_factory=list)
    accepted: list[tuple[bool, bool]] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)


def drafted(rule: Rule, side: Side, logits: Logits, sampling: SamplingSettings, written: Sequence[int]) -> Draft:
    """Return the draft that a side makes after the tokens written so far, as the answer's rule requires."""
    if rule == "greedy":
        whole = likeliest(logits, sampling, written, len(logits))
        return Draft(0, int(whole.probabilities.argmax()), whole)
    token, sent = draft(rule, side, logits, sampling, written)
    return Draft(0, token, sent)


def written_by_one(
    rule: Rule,
    decoders: Mapping[Side, Decoder],
    share: float,
    sampling: SamplingSettings,
    most: int,
    engine: Engine,
) -> Played:
    """Return the answer as a single process writes it, token by token, up to and including an end token."""
    played = Played()
    while len(played.tokens) < most:
        drafts = {side: drafted(rule, side, decoders[side].mixture, sampling, played.tokens) for side in SIDES}
        token = rules.decide(rule, sampling.seed, len(played.tokens), share, drafts["device"], drafts["server"])
        assert token is not None
        played.accepted.append((drafts["device"].token == token, drafts["server"].token == token))
        if held := drafts["server"].distribution:
            played.bytes.append(len(encode(held)))
        played.tokens.append(token)
        if engine.is_end(token):
            break
        if len(played.tokens) < most:
            for decoder in decoders.values():
                decoder.append(token)
    return played


def acceptance(answers: Sequence[Played]) -> dict[str, float]:
    """Return the shares of accepted drafts: of the device's, of the server's, and of both at the same position."""
    both = np.array([pair for answer in answers for pair in answer.accepted])
    device, server = both.mean(axis=0)
    return {
        "device": round(float(device), 4),
        "server": round(float(server), 4),
        "both": round(float(both.all(axis=1).mean()), 4),
    }


def sizes(answers: Sequence[Played]) -> dict[str, float]:
    """Return figures about the bytes of a server's distribution on the wire."""
    held = [size for answer in answers for size in answer.bytes]
    return {"mean": round(statistics.mean(held), 1), "p95": float(np.quantile(held, 0.95))} if held else {}


def variation(
    rule: Rule, pair: Mapping[Side, Logits], share: float, sampling: SamplingSettings, draws: int
) -> tuple[float, float]:
    """Return the total variation between `draws` emitted first tokens and the exact mixture, and that of equally many
    true samples.
    """
    exact: npt.NDArray[np.float64] = np.zeros(len(pair["device"]))
    for side, weight in (("device", share), ("server", 1 - share)):
        left = distribution(pair[side], sampling)  # type: ignore[index]
        exact[left.tokens] += weight * left.probabilities
    ids = np.flatnonzero(exact)
    place = {int(token): number for number, token in enumerate(ids)}
    counts = np.zeros(len(ids))
    for token in _emitted(rule, pair, share, sampling, draws):
        counts[place[token]] += 1
    expected = exact[ids] / exact.sum()
    true = np.random.default_rng(1).multinomial(draws, expected, size=200)
    floor = 0.5 * np.abs(true / draws - expected).sum(axis=1).mean()
    return float(0.5 * np.abs(counts / draws - expected).sum()), float(floor)


def _emitted(
    rule: Rule, pair: Mapping[Side, Logits], share: float, sampling: SamplingSettings, draws: int
) -> Iterator[int]:
    """Yield the first token that the rule emits, under seeds 0, 1, 2 …"""
    left = {side: distribution(pair[side], sampling) for side in SIDES}
    held = {side: quantise(part.tokens, part.probabilities) for side, part in left.items()}
    for seed in range(draws):
        drafts: dict[Side, Draft] = {}
        for side in SIDES:
            ids, weights = (
                (left[side].tokens, left[side].probabilities)
                if rule == "coupled"
                else (held[side].ids, held[side].counts)
            )
            token = rules.draft(rule, side, seed, 0, ids, weights)
            drafts[side] = Draft(0, token, None if rule == "coupled" else held[side])
        emitted = rules.decide(rule, seed, 0, share, drafts["device"], drafts["server"])
        assert emitted is not None
        yield emitted


def both(answers: Sequence[Played], length: int) -> list[list[tuple[bool, bool]]]:
    """Return the acceptances recorded for all answers, concatenated and then split into sequences of the given
    length.
    """
    every: list[Any] = [pair for answer in answers for pair in answer.accepted]
    return [every[start : start + length] for start in range(0, len(every) - length + 1, length)]
