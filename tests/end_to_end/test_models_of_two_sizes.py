"""A device and a server with different models: their joint answers with the same vocabulary, and with two different
ones.

The models are tiny, with random weights, and run by llama.cpp. Their text is nonsense, but exactly known.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import pytest

from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race_report import Question
from device_app.companion.joint.aggregated import Aggregated
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from models.engine import Logits
from models.fake import FakeEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from shared.errors import LinkError
from shared.prompt import CHATML
from shared.protocol import messages as m
from shared.public import public_prompt
from shared.trace import Trace
from tests.companion import FewPassages, Serve, Served
from tests.jointly import DANUBE, Written, by_one, together
from tests.limits import wait_at_most
from tests.racing import BOTH, DEAR_SERVER, EVEN, SERVER, Raced, linked, terms
from tests.tiny_model import tiny_model, words

DEVICE = Decision(0.0, None, "the device alone")
DEAR_DEVICE = Costs(1, 1, 0.001, 0.001)
WARM = SamplingSettings(temperature=1.0, min_p=0.0, seed=5)
QUESTION = Question(DANUBE, WARM, 160, 1)
LARGER = {"llama.block_count": 9, "llama.context_length": 2048}
SMALLER = {"llama.context_length": 2048}


class Paced(LlamaCppEngine):
    """An engine as slow as `terms` assumes, which writes up to the token limit: a tiny model would end its answer
    before it can migrate.
    """

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        time.sleep(0.005)
        return super().decode(tokens)

    def is_end(self, token: int) -> bool:
        return False


@dataclass(frozen=True)
class Models:
    """The device's engine, and the server's: larger, of the same vocabulary (`alike`) or of another of its size."""

    device: Paced
    alike: Paced
    other: Paced


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Models]:
    folder = tmp_path_factory.mktemp("models")
    same, other = words(), words(first=100, joined=False)
    files = (
        tiny_model(folder / "device.gguf", "llama", {**SMALLER, **same}, seed=1),
        tiny_model(folder / "alike.gguf", "llama", {**LARGER, **same}, seed=2),
        tiny_model(folder / "other.gguf", "llama", {**LARGER, **other}, seed=3),
    )
    with ExitStack() as open_until_then:
        yield Models(
            *(
                open_until_then.enter_context(
                    closing(Paced(LlamaModel(file), context=4096, sequences=4, threads=1, shared=True))
                )
                for file in files
            )
        )


@contextmanager
def linking(serve: Serve, device: Paced, server: Paced) -> Iterator[tuple[Served, Link]]:
    served = serve(server, limits={"tokens_per_minute": 1e9})
    with linked(served.url, served.token(), vocabulary=device.vocabulary_hash()) as link:
        assert link.wait(30).connected
        yield served, link
    served.end()
    cleared(device, server)


def cleared(*engines: Paced) -> None:
    for engine in engines:
        for sequence in range(engine.info.sequences):
            engine.clear(sequence)


def continued(engine: Paced, ids: Sequence[int], passages: Sequence[m.PublicPassage]) -> str:
    """Return the text that an engine writes after these tokens of the answer."""
    source = LocalSource(engine, CHATML)
    prompt = public_prompt(DANUBE, passages, CHATML)
    drawn = list(source.go_on(prompt, ids, WARM, max_tokens=len(ids) + 200, trace=Trace()))
    cleared(engine)
    return engine.detokenize(drawn).decode(errors="replace")


def asked_of(monkeypatch: pytest.MonkeyPatch) -> list[m.Ask]:
    """Record all requests that are sent to servers from now on."""
    asks: list[m.Ask] = []
    raw = Link.ask

    def noted(link: Link, ask: m.Ask, *rest: object) -> object:
        asks.append(ask)
        return raw(link, ask, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Link, "ask", noted)
    return asks


def test_of_one_size_they_are_told_apart_by_what_their_tokens_say(models: Models) -> None:
    hashes = [engine.vocabulary_hash() for engine in (models.device, models.alike, models.other)]
    assert {engine.info.vocabulary for engine in (models.device, models.alike, models.other)} == {256}
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.long
@pytest.mark.parametrize("vocabulary", ["alike", "other"])
def test_an_answer_that_moves_to_the_server_is_continued_by_its_model(
    vocabulary: str, serve: Serve, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Paced = getattr(models, vocabulary)
    asks = asked_of(monkeypatch)
    with linking(serve, models.device, server) as (_, link):
        raced = Raced(link, DEVICE, terms(DEAR_DEVICE, ready_s=0.8), models.device, question=QUESTION)
    assert len(raced.report.moves) == 1, raced.report
    ((index, side),) = raced.report.moves
    before = "".join(piece.text for piece in raced.shown[:index])
    assert (side, raced.report.origin, 0 < index < 160) == ("server", "migrated", True)
    moved = asks[-1]
    if vocabulary == "alike":
        assert (len(moved.accepted), moved.accepted_text) == (index, "")
        ids = list(moved.accepted)
    else:
        assert (moved.accepted, moved.accepted_text) == ((), before)
        assert any("moves as text" in reason for reason in raced.report.reasons)
        ids = server.tokenize(before)
    assert models.device.detokenize(moved.accepted).decode() in ("", before)
    rest = raced.text.removeprefix(before)
    assert rest
    assert len(raced.shown) == 160  # the limit of the whole answer, whoever writes its end
    assert continued(server, ids, raced.sources).startswith(rest)


@pytest.mark.long
@pytest.mark.parametrize("lost", [False, True], ids=["moved", "server lost"])
@pytest.mark.parametrize("vocabulary", ["alike", "other"])
def test_an_answer_that_moves_to_the_device_is_continued_by_its_model(
    vocabulary: str, lost: bool, serve: Serve, models: Models
) -> None:
    server: Paced = getattr(models, vocabulary)
    with linking(serve, models.device, server) as (served, link):

        def acting(raced: Raced) -> None:
            if lost and len(raced.shown) == 10:
                served.dies()

        costs = EVEN if lost else DEAR_SERVER
        raced = Raced(link, SERVER, terms(costs, ready_s=0.8), models.device, acting, QUESTION)
    assert len(raced.report.moves) == 1, raced.report
    ((index, side),) = raced.report.moves
    handed, rest = raced.shown[:index], "".join(piece.text for piece in raced.shown[index:])
    before = "".join(piece.text for piece in handed)
    assert (side, raced.report.origin, 0 < index < 160) == ("device", "migrated", True)
    assert raced.text == before + rest
    assert rest
    ids = [piece.token for piece in handed]
    if vocabulary == "other":
        assert set(ids) == {-1}
        assert any("moves as text" in reason for reason in raced.report.reasons)
        ids = models.device.tokenize(before)
    assert models.device.detokenize(ids).decode() == before
    assert len(raced.shown) == 160
    assert continued(models.device, ids, raced.sources).startswith(rest)


@pytest.mark.parametrize("vocabulary", ["alike", "other"])
def test_both_race_and_one_of_them_answers(vocabulary: str, serve: Serve, models: Models) -> None:
    with linking(serve, models.device, getattr(models, vocabulary)) as (_, link):
        raced = Raced(link, BOTH, terms(), models.device, question=QUESTION)
    assert raced.report.origin in ("device", "cloud")
    assert raced.text == "".join(piece.text for piece in raced.shown)
    assert "\N{REPLACEMENT CHARACTER}" not in raced.text
    assert len(raced.text) > 20


@pytest.mark.parametrize("rule", ["coupled", "greedy"])
def test_models_of_one_vocabulary_write_together_what_one_process_would(
    rule: str, serve: Serve, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_at_most(monkeypatch, token_s=100.0)
    passages = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 1)
    asked = together(similarity=passages[0].similarity, sampling=WARM, max_tokens=40, rule=rule)  # type: ignore[arg-type]
    with linking(serve, models.device, models.alike) as (_, link):
        joint = Written(link, asked, models.device)
    expected = by_one(asked, passages, models.device, models.alike)
    cleared(models.device, models.alike)
    assert joint.report.alone == ""
    assert len(joint.tokens) > 3
    assert joint.settled[: len(expected)] == expected[: len(joint.settled)]


def test_models_of_two_vocabularies_do_not_write_together_and_nothing_leaves(
    serve: Serve, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    with linking(serve, models.device, models.other) as (_, link):
        assert link.by_text
        asks = asked_of(monkeypatch)
        with pytest.raises(LinkError, match="has another vocabulary"):
            Aggregated(link, LocalSource(models.device, CHATML), together().together, Trace(), None)
        assert asks == []
