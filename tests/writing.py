"""Jobs for a batch, and for comparison the same answers generated with an engine of their own."""

from collections.abc import Sequence

import numpy as np

from cloud_server.engine.jobs import Draft, Job
from models.decoder import Decoder
from models.drafts import draft
from models.engine import Engine
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation.distribution import encode
from shared.aggregation.messages import Rule

GREEDY, CHANCE = SamplingSettings(), SamplingSettings(temperature=3.0, repetition_penalty=1.3, seed=5)
FREE = 10_000


def job(*parts: str, accepted: str = "", max_tokens: int = 200) -> Job:
    """Return a job whose prompt is these parts and a question; the fake engine answers with the last line before the
    question.
    """
    segments = (*parts, "Question: q?\nassistant\n")
    row = tuple(tuple(segment.encode()) for segment in segments)
    return Job((row,), (0.0,), GREEDY, max_tokens, tuple(accepted.encode()))


RULES: list[Rule] = ["coupled", "algorithm1", "greedy"]
LINES = ["It is blue.\n", "Nobody knows.\n", "Four of them.\n", "By the river.\n"]


def joint(*lines: str, accepted: str = "", max_tokens: int = 60, drawn_by: Rule = "coupled", ahead: int = 8) -> Job:
    """Return the job of a joint answer with a row (prompt) for each line, after the same beginning; the first row
    weighs most.
    """
    rows = [job("Head.\n", line, accepted=accepted) for line in lines]
    shares = np.arange(len(rows), 0, -1, dtype=np.float32)
    log_weights = tuple(np.log(shares / shares.sum()).tolist())
    prompts = tuple(row.rows[0] for row in rows)
    return Job(prompts, log_weights, CHANCE, max_tokens, rows[0].accepted, drawn_by, ahead)


def alone(asked: Job, prefix: Sequence[int], engine: Engine | None = None) -> Decoder:
    """Return a decoder with an engine of its own, which has read the prompt and the answer's `prefix`."""
    engine = engine or FakeEngine()
    behind = {}
    for row, segments in enumerate(asked.rows):
        engine.clear(row)
        behind[row] = engine.prefill(row, [*(token for segment in segments for token in segment), *prefix])
    return Decoder(engine, behind, np.array(asked.log_weights, np.float32), written=len(prefix))


def chain_behind(asked: Job, prefix: Sequence[int], count: int, engine: Engine | None = None) -> list[Draft]:
    """Return the next `count` drafts after the answer's `prefix`, fewer at its end, made with an engine of its own."""
    engine = engine or FakeEngine()
    decoder, drawn, drafts = alone(asked, prefix, engine), list(prefix), list[Draft]()
    assert asked.rule
    while len(drafts) < count and len(drawn) < asked.max_tokens:
        token, distribution = draft(asked.rule, "server", decoder.mixture, asked.sampling, drawn)
        drafts.append(Draft(1, len(prefix), len(drawn), token, distribution))
        drawn.append(token)
        if engine.is_end(token):
            break
        decoder.append(token)
    return drafts


def drafts_behind(asked: Job, prefix: Sequence[int], count: int) -> list[int]:
    return [draft.token for draft in chain_behind(asked, prefix, count)]


def same(first: Sequence[Draft], other: Sequence[Draft]) -> bool:
    """Return whether two lists of drafts are equal bit for bit, including their distributions."""

    def facts(made: Draft) -> tuple[object, ...]:
        given = made.distribution
        return made.epoch, made.position, made.token, None if given is None else encode(given)

    return list(map(facts, first)) == list(map(facts, other))
