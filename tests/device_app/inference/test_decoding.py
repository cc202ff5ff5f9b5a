"""Whether the model abstains, decided before the first token; and what is sampled if it does not."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.inference.decoding import judge
from device_app.inference.local import LocalSource
from models.abstention import AbstentionThreshold, log_odds
from models.decoder import Decoder
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation.weights import row_weights
from shared.errors import GaveWay
from shared.prompt import CHATML, NOT_FOUND, Prompt, build, is_not_found, turn
from shared.trace import Trace
from tests.device_app.inference.test_local_source import passage

LIKELIEST = AbstentionThreshold(0.0, 0.0)
"""A threshold at which the model abstains if its probability of abstaining exceeds one half, whatever the passages'
similarity.
"""

GREEDY = SamplingSettings()
SPELLED = list(NOT_FOUND.encode())


class Wavering(FakeEngine):
    """A fake engine that writes each next byte of NOT_FOUND with a given probability; the last probability holds for
    all further bytes.
    """

    def __init__(
        self, *probabilities: float, abstention: AbstentionThreshold | None = LIKELIEST, context: int = 8192
    ) -> None:
        super().__init__(context=context, abstention=abstention)
        self._probabilities = probabilities

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super()._append(sequence, tokens)
        text = bytes(token for token in self.tokens(sequence) if token < 256)
        said = text.rpartition(b"assistant\n")[2]
        if len(said) < len(SPELLED) and list(said) == SPELLED[: len(said)]:
            token = SPELLED[len(said)]
            likely = self._probabilities[min(len(said), len(self._probabilities) - 1)]
            others = np.delete(logits.astype(np.float64), token)
            logits[token] = np.logaddexp.reduce(others) + math.log(likely / (1 - likely))
        return logits


def prompt(*texts: str) -> Prompt:
    return build("?", [passage(number, text) for number, text in enumerate(texts or ("north",), 1)])


def behind(engine: FakeEngine, ahead: int) -> Decoder:
    """Return a decoder that has read a prompt and generated no token yet."""
    engine.clear(0)
    read = engine.prefill(0, engine.tokenize(prompt().text(), special=True))
    return Decoder(engine, {0: read}, row_weights((1.0,)), ahead=ahead)


def probabilities(logits: Logits) -> npt.NDArray[np.float64]:
    exact = logits.astype(np.float64)
    exact_probabilities: npt.NDArray[np.float64] = np.exp(exact - np.logaddexp.reduce(exact))
    return exact_probabilities


def said(engine: FakeEngine, asked: Prompt, sampling: SamplingSettings = GREEDY, most: int = 50) -> str:
    source = LocalSource(engine, CHATML)
    similarities = [0.5] * len(asked.passages)
    pieces = source.stream(asked, sampling, max_tokens=most, similarities=similarities, relevance=0.5)
    return "".join(piece.text for piece in pieces)


shares = st.floats(0.01, 0.99)


@settings(deadline=None)
@given(st.lists(shares, min_size=3, max_size=3), st.floats(-5, 5))
def test_it_is_judged_by_its_odds_and_an_answer_is_what_the_model_would_write_otherwise(
    likely: list[float], threshold: float
) -> None:
    engine, tokens = Wavering(*likely), SPELLED[:3]
    decoder = behind(engine, ahead=3)
    before, length = decoder.mixture.copy(), engine.length(0)
    judged = judge(decoder, tokens, threshold)
    assert (decoder.position, engine.length(0)) == (0, length)
    assert np.array_equal(decoder.mixture, before)
    odds = log_odds(math.fsum(map(math.log, likely)))
    if abs(odds - threshold) > 1e-3:
        assert judged.abstains is (odds > threshold)
    for place, (token, share) in enumerate(zip(tokens, likely, strict=True)):
        mixture = decoder.mixture
        left = probabilities(judged.given_an_answer(mixture, tokens[:place]))
        expected = probabilities(mixture)
        assert expected[token] == pytest.approx(share, rel=1e-3)
        if judged.shifts:  # Bayes: all others as they were to each other, and of this one what goes on otherwise
            expected[token] *= 1 - math.prod(likely[place + 1 :])
        assert np.allclose(left, expected / expected.sum(), rtol=1e-3, atol=1e-6)
        decoder.append(token)
    assert judged.given_an_answer(decoder.mixture, tokens) is decoder.mixture


CAREFUL = AbstentionThreshold(intercept=-3.0, slope=1.0)


@pytest.mark.parametrize(
    ("likely", "abstention", "relevance", "expected"),
    [
        ((0.9, 0.999), LIKELIEST, 0.5, NOT_FOUND),
        ((0.3, 0.999), LIKELIEST, 0.5, "north"),
        ((0.3, 0.999), CAREFUL, 0.5, NOT_FOUND),  # it is not likeliest, and the passages are hardly relevant
        ((0.3, 0.999), CAREFUL, 0.99, "north"),
        ((0.9, 0.999), CAREFUL, 0.999, "north"),  # it is likeliest, and the passages are likelier relevant
        ((0.999, 0.99999), CAREFUL, 1.0, NOT_FOUND),  # sure is sure
        ((0.02, 0.999), CAREFUL, 0.1, NOT_FOUND),
        # It begins like the abstention, and is none: in its fake, the rest of the passage.
        ((0.9, *[0.999] * 12, 0.001), LIKELIEST, 0.5, "The passages"),
        ((0.9, *[0.999] * 12, 0.001), CAREFUL, 0.999, "The passages"),
    ],
)
def test_the_model_and_the_search_judge_together(
    likely: Sequence[float], abstention: AbstentionThreshold, relevance: float, expected: str
) -> None:
    trace = Trace()
    source = LocalSource(Wavering(*likely, abstention=abstention), CHATML)
    pieces = source.stream(prompt().joined(), GREEDY, max_tokens=50, relevance=relevance, trace=trace)
    text = "".join(piece.text for piece in pieces)
    assert text.startswith(expected)
    assert (text == NOT_FOUND) is (expected == NOT_FOUND)
    assert trace.tokens_decoded == len(text)
    assert trace.first_token_ms is not None


def test_rows_abstain_together() -> None:
    assert said(Wavering(0.9, 0.999), prompt("north", "south")) == NOT_FOUND
    assert said(Wavering(0.3, 0.999), prompt("north", "south")) in ("north", "south")


def test_without_passages_there_is_nothing_to_abstain_from() -> None:
    asked = turn(f"Say this.\n{NOT_FOUND}\nNow.")
    text = [
        "".join(piece.text for piece in LocalSource(engine, CHATML).stream(asked, GREEDY, max_tokens=50))
        for engine in (FakeEngine(), FakeEngine(abstention=LIKELIEST))
    ]
    assert text[0] == NOT_FOUND
    assert text[1]
    assert not is_not_found(text[1])


def test_without_a_threshold_or_relevance_the_model_writes_what_is_likeliest() -> None:
    abstained = prompt(NOT_FOUND).joined()
    assert said(FakeEngine(), abstained) == NOT_FOUND
    never = FakeEngine(abstention=AbstentionThreshold(99.0, 0.0))
    pieces = LocalSource(never, CHATML).stream(abstained, GREEDY, max_tokens=50)
    assert "".join(piece.text for piece in pieces) == NOT_FOUND
    assert said(never, abstained) != NOT_FOUND


@pytest.mark.parametrize("sampling", [GREEDY, SamplingSettings(temperature=2.0, top_k=40, seed=3)])
def test_what_would_not_begin_like_it_costs_nothing_and_changes_nothing(sampling: SamplingSettings) -> None:
    plain, careful = (Wavering(0.1, 0.999, abstention=abstention) for abstention in (None, LIKELIEST))
    assert said(plain, prompt().joined(), sampling) == said(careful, prompt().joined(), sampling)
    assert plain.computed == careful.computed


def test_where_it_could_not_be_said_whole_it_is_not_judged() -> None:
    asked = prompt().joined()
    room = LocalSource(FakeEngine(), CHATML).count(asked)
    for most in (1, 5, len(SPELLED) - 1):
        assert said(Wavering(0.9, 0.999), asked, most=most) == NOT_FOUND[:most]
        plain, careful = (
            Wavering(0.9, 0.999, abstention=abstention, context=room + most - 1) for abstention in (None, LIKELIEST)
        )
        assert said(careful, asked, most=most) == said(plain, asked, most=most)
    assert said(Wavering(0.9, 0.999, context=room + 3), asked) == NOT_FOUND[:3]


def test_what_is_broken_off_while_it_is_judged_is_judged_anew() -> None:
    class Breaking(Wavering):
        left = 5

        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            self.left -= 1
            if not self.left:
                raise GaveWay
            return super().decode(tokens)

    source = LocalSource(Breaking(0.9, 0.999), CHATML)
    with pytest.raises(GaveWay):
        list(source.stream(prompt().joined(), GREEDY, max_tokens=50, relevance=0.5))
    again = source.stream(prompt().joined(), GREEDY, max_tokens=50, relevance=0.5)
    assert "".join(piece.text for piece in again) == NOT_FOUND
