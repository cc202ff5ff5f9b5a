"""Answers that end with a stop word, and tokens with the probability that the model gave them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Done, EngineEvent, Job, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from models.speculative.costs import PassCosts
from models.speculative.drafting import Drafting
from tests.scripted import Scripted
from tests.writing import job

FREE = 10_000


def written(asked: Job, engine: FakeEngine | None = None, batch: Batch | None = None) -> tuple[list[Token], Done]:
    batch = Batch(engine or FakeEngine(), PrefixCache(0)) if batch is None else batch
    batch.join(1, asked, FREE)
    events: list[EngineEvent] = []
    while not (events and isinstance(events[-1], Done)):
        events += batch.step()
    *tokens, done = events
    assert all(isinstance(token, Token) for token in tokens)
    assert isinstance(done, Done)
    return [token for token in tokens if isinstance(token, Token)], done


def text(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens)


@pytest.mark.parametrize(
    ("said", "stops", "rest"),
    [
        ("It is blue. It is green.", (". ",), "It is blue. "),
        ("It is blue? No! Yes.", (". ", "! ", "? "), "It is blue? "),
        ("It is blue.", (". ",), "It is blue."),
        ("It is blue.", (), "It is blue."),
        ("What?\nWhere?", ("\n",), "What?\n"),
        ("\n \nWhat?\nWhere?", ("\n",), "\n \nWhat?\n"),
        ("aab aabaac", ("aac", "aax"), "aab aabaac"),
    ],
)
def test_an_answer_ends_with_the_token_that_completes_a_stop(said: str, stops: tuple[str, ...], rest: str) -> None:
    tokens, done = written(replace(job("Head.\n"), stops=stops), Scripted({"Question": said}))
    assert (text(tokens), done.cut) == (rest, False)


def test_what_was_accepted_before_completes_no_stop() -> None:
    asked = replace(job("Head.\n", accepted="It is blue."), stops=(". ",))
    tokens, _ = written(asked, Scripted({"Question": "It is blue. It is green. It is red."}))
    assert text(tokens) == " It is green. "


def test_a_job_that_asks_for_it_gets_the_model_s_own_probabilities() -> None:
    engine = Scripted({"Question": "It is blu#."}, unsure="#")
    asked = replace(job("Head.\n"), sampling=SamplingSettings(repetition_penalty=1.1))
    tokens, _ = written(replace(asked, probabilities=True), engine)
    likely = {token.text: token.probability for token in tokens}
    assert all(p is not None and (p < 0.1 if character == "#" else p > 0.9) for character, p in likely.items())
    assert all(token.probability is None for token in written(asked, engine)[0])


def test_drafted_tokens_have_their_own_probabilities_too() -> None:
    costs = PassCosts(((1, 1.0), (8, 1.2)), is_exact=True)
    asked = replace(job("It is blue.\n"), probabilities=True)
    batch = Batch(FakeEngine(), PrefixCache(0), drafting=Drafting("auto", costs=costs))
    tokens, _ = written(asked, batch=batch)
    assert batch.accepted > 3
    assert tokens == written(asked)[0]
    assert all(token.probability and token.probability > 0.9 for token in tokens)
