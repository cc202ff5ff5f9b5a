"""A joint answer with the real model: the same tokens as those of one process that holds all passages."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from models.fake import FakeEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from shared.aggregation.distribution import Top
from shared.aggregation.messages import Place, Rule
from shared.aggregation.wire import pieces
from shared.protocol import messages as m
from tests.companion import FewPassages, Serve
from tests.jointly import DANUBE, DIARY, Written, by_one, together
from tests.limits import wait_at_most
from tests.racing import linked

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def engines(weights: Path) -> Iterator[list[LlamaCppEngine]]:
    """The device's engine and the server's.

    With a q8_0 KV cache, a token's logits do not depend on how many tokens are computed at once.
    """
    model = weights / "smollm2-135m-instruct.q4_1.gguf"
    with ExitStack() as open_until_then:
        yield [
            open_until_then.enter_context(
                closing(LlamaCppEngine(LlamaModel(model), context=2048, sequences=4, threads=1, kv_type="q8_0"))
            )
            for _ in range(2)
        ]


@pytest.mark.parametrize(
    ("rule", "place", "temperature", "every"),
    [
        ("coupled", "both", 0.7, 0),
        pytest.param("algorithm1", "both", 0.7, 0, marks=pytest.mark.long),
        pytest.param("algorithm1", "both", 0.7, 8, marks=pytest.mark.long),
        pytest.param("algorithm1", "server", 0.7, 0, marks=pytest.mark.long),
        pytest.param("algorithm1", "device", 1.0, 0, marks=pytest.mark.long),
        ("greedy", "device", 0.0, 0),
    ],
)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_both_sides_write_what_one_process_would(
    serve: Serve,
    engines: list[LlamaCppEngine],
    monkeypatch: pytest.MonkeyPatch,
    rule: Rule,
    place: Place,
    temperature: float,
    every: int,
    seed: int,
) -> None:
    wait_at_most(monkeypatch, token_s=100.0)  # what else the machine does is not what is tested
    device, server = engines
    sampling = SamplingSettings(temperature=temperature, min_p=0.05 if temperature < 1 else 0.0, seed=seed)
    texts = (DIARY, "Our boat was called Jackdaw.")
    # Three passages without a relevance threshold give the server two rows; with seed 0, both sides weigh the same.
    rows, passages = 2, FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 3)
    near = passages[0].similarity - 0.05 * seed
    asked = together(
        texts=texts,
        similarity=near,
        sampling=sampling,
        max_tokens=40,
        rule=rule,
        place=place,
        rows=rows,
        passages=3,
        weights_every=every,
    )
    served = serve(server, retrieval={"relevance": -1.0})
    with linked(served.url, served.token(), vocabulary=device.vocabulary_hash()) as link:
        assert link.wait(30).connected
        joint = Written(link, asked, device)
    served.end()
    for sequence in range(server.info.sequences):
        server.clear(sequence)
    expected = by_one(asked, passages, device, server)
    # Shown up to where it repeats itself, and settled a little further.
    assert joint.report.alone == ""
    assert joint.settled[: len(expected)] == expected[: len(joint.settled)]
    assert len(joint.tokens) > 3


def test_what_is_fetched_of_a_whole_vocabulary_arrives_in_pieces(
    serve: Serve, engines: list[LlamaCppEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[m.Rest] = []

    def whole(request: int, position: int, distribution: Top) -> list[m.Rest]:
        sent.extend(pieces(request, position, distribution))
        return [*pieces(request, position, distribution)]

    wait_at_most(monkeypatch, token_s=100.0)
    monkeypatch.setattr("models.drafts.FETCHED", 1)
    monkeypatch.setattr("cloud_server.sessions.joint.enough", lambda count, vocabulary: vocabulary)
    monkeypatch.setattr("cloud_server.sessions.joint.pieces", whole)
    device, server = engines
    passages = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 1)
    asked = together(similarity=passages[0].similarity, rule="greedy", max_tokens=12)
    served = serve(server)
    with linked(served.url, served.token(), vocabulary=device.vocabulary_hash()) as link:
        assert link.wait(30).connected
        joint = Written(link, asked, device)
    served.end()
    for sequence in range(server.info.sequences):
        server.clear(sequence)
    expected = by_one(asked, passages, device, server)
    assert joint.report.alone == ""
    assert joint.settled[: len(expected)] == expected[: len(joint.settled)]
    assert {len(piece.data) for piece in sent} == {m.PIECE_BYTES, 4 * device.info.vocabulary + 5 - 6 * m.PIECE_BYTES}
