"""Speculative decoding: the text is the same as without drafts, takes fewer passes, and leaves no tokens in the
sequences.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.inference.local import LocalSource
from models.decoder import Decoder
from models.engine import EngineInfo, Logits
from models.facts import FactsFile
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from models.speculative.answer_draft import AnswerDraft
from models.speculative.choice import Acceptance
from models.speculative.costs import FILE, KnownCosts, PassCosts
from models.speculative.draft_setting import WithoutModel
from models.speculative.drafting import Drafting
from shared.prompt import CHATML, Prompt, build
from shared.trace import Trace
from shared.types import StoredPassage

CHEAP = PassCosts(((1, 1.0), (16, 1.5)), is_exact=True)
INEXACT = PassCosts(((1, 1.0), (16, 1.5)), is_exact=False)
DEAR = PassCosts(((1, 1.0), (16, 16.0)), is_exact=True)
REPEATS = "the blue drill and the blue drill and the blue saw and the blue drill"


class Loose(FakeEngine):
    """A fake engine that prefers the passage's text only a little, so that sampled tokens differ from it now
    and then.
    """

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super()._append(sequence, tokens)
        logits[logits.argmax()] -= 13
        return logits


def asked(*texts: str) -> Prompt:
    passages = [
        StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")
        for number, text in enumerate(texts)
    ]
    return build("Which?", passages, CHATML)


def prompt_tokens(prompt: Prompt) -> list[int]:
    """The tokens of the first row's prompt."""
    return LocalSource(FakeEngine(), CHATML).tokens((*prompt.head, *prompt.passages[0], *prompt.tail))


def written(
    engine: FakeEngine, drafting: Drafting, prompt: Prompt, sampling: SamplingSettings, most: int
) -> tuple[list[int], Trace]:
    trace = Trace()
    source = LocalSource(engine, CHATML, drafting)
    similarities = [0.5] * max(1, len(prompt.passages))
    tokens = [
        piece.token
        for piece in source.stream(prompt, sampling, max_tokens=most, similarities=similarities, trace=trace)
    ]
    return tokens, trace


@settings(max_examples=25)
@given(
    texts=st.lists(st.sampled_from([REPEATS, "a b a b a c", "no repetition"]), min_size=1, max_size=3),
    is_one_row=st.booleans(),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    top_k=st.sampled_from([0, 5]),
    penalty=st.sampled_from([1.0, 1.3]),
    seed=st.integers(0, 99),
    most=st.integers(1, 60),
    costs=st.sampled_from([CHEAP, DEAR]),
    mode=st.sampled_from(["auto", "lookup"]),
)
def test_the_text_is_that_of_no_drafting(
    texts: list[str],
    is_one_row: bool,
    temperature: float,
    top_k: int,
    penalty: float,
    seed: int,
    most: int,
    costs: PassCosts,
    mode: WithoutModel,
) -> None:
    prompt = asked(*texts).joined() if is_one_row else asked(*texts)
    sampling = SamplingSettings(temperature=temperature, top_k=top_k, repetition_penalty=penalty, seed=seed)
    plain, drafted = Loose(), Loose()
    expected, _ = written(plain, Drafting(), prompt, sampling, most)
    tokens, trace = written(drafted, Drafting(mode, costs=costs), prompt, sampling, most)
    assert tokens == expected
    for sequence in range(4):
        assert drafted.tokens(sequence) == plain.tokens(sequence)
    counted = trace.drafts.passes + trace.drafts.accepted
    rows = len(prompt.passages)
    assert counted == (len(plain.tokens(0)) - len(prompt_tokens(prompt)) if rows == 1 or mode == "lookup" else 0)


def test_the_property_above_sees_accepted_and_rejected_drafts() -> None:
    sampling = SamplingSettings(temperature=0.7, seed=3)
    _, trace = written(Loose(), Drafting("auto", costs=CHEAP), asked(REPEATS).joined(), sampling, 200)
    assert 5 < trace.drafts.accepted < trace.drafts.drafted


def test_repeated_text_takes_fewer_passes() -> None:
    tokens, trace = written(
        FakeEngine(), Drafting("auto", costs=CHEAP), asked(REPEATS).joined(), SamplingSettings(), 200
    )
    assert bytes(tokens).decode() == REPEATS
    assert trace.drafts.passes < len(tokens) / 3
    assert trace.drafts.gain > 2
    assert trace.as_json()["drafts"] == {
        "passes": trace.drafts.passes,
        "drafted": trace.drafts.drafted,
        "accepted": trace.drafts.accepted,
        "gain": round(trace.drafts.gain, 3),
        "tokens_per_pass": round(len(tokens) / trace.drafts.passes, 2),
        "model": None,
    }


@pytest.mark.parametrize(
    ("drafting", "drafts"),
    [
        (Drafting(), False),
        (Drafting("auto"), False),
        (Drafting("auto", costs=INEXACT), False),
        (Drafting("auto", costs=DEAR), False),
        (Drafting("auto", costs=CHEAP), True),
        (Drafting("lookup"), False),
        (Drafting("lookup", costs=INEXACT), True),
        (Drafting("lookup", costs=DEAR), False),
    ],
)
def test_it_drafts_where_that_pays_and_is_wanted(drafting: Drafting, drafts: bool) -> None:
    _, trace = written(FakeEngine(), drafting, asked(REPEATS).joined(), SamplingSettings(), 200)
    assert (trace.drafts.drafted > 0) is drafts


def test_an_engine_that_computes_anew_what_is_rolled_back_drafts_nothing(tmp_path: Path) -> None:
    class Windowed(FakeEngine):
        @property
        def info(self) -> EngineInfo:
            return replace(super().info, sliceable=False)

    drafting = Drafting("auto", KnownCosts(FactsFile(tmp_path, FILE), "fake"), CHEAP)
    assert not drafting.is_unmeasured(Windowed().info)
    _, trace = written(Windowed(), drafting, asked(REPEATS).joined(), SamplingSettings(), 200)
    assert not trace.drafts.drafted


def test_a_full_context_ends_drafting_not_the_answer() -> None:
    prompt = asked(REPEATS).joined()
    room = LocalSource(FakeEngine(), CHATML).count(prompt)
    for most in range(1, 30):
        engine = FakeEngine(context=room + most)
        tokens, _ = written(engine, Drafting("auto", costs=CHEAP), prompt, SamplingSettings(), most)
        assert bytes(tokens).decode() == REPEATS[:most]


def test_stopping_in_the_middle_leaves_the_answer_alone() -> None:
    engine, prompt = FakeEngine(), asked(REPEATS).joined()
    stream = LocalSource(engine, CHATML, Drafting("auto", costs=CHEAP)).stream(
        prompt, SamplingSettings(), max_tokens=100
    )
    said = [next(stream).token for _ in range(20)]
    stream.close()
    held = engine.tokens(0)
    assert list(held[-len(said) + 1 :]) == said[:-1]


def test_costs_are_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.speculative.costs._SPREAD", 1e9)  # the fake takes microseconds
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    drafting = Drafting("auto", known)
    assert drafting.is_unmeasured(FakeEngine().info)
    drafting.measure(FakeEngine())
    assert not drafting.is_unmeasured(FakeEngine().info)
    assert Drafting("auto", known).costs == drafting.costs
    assert not Drafting("off", known).is_unmeasured(FakeEngine().info)


def test_costs_that_another_process_measured_are_used(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    drafting = Drafting("auto", known)
    assert drafting.costs_if_used(FakeEngine()) is None
    known.keep(CHEAP)
    assert not drafting.is_unmeasured(FakeEngine().info)
    assert drafting.costs == CHEAP


def test_what_was_not_worth_drafting_is_drafted_again_once_it_would_have_been_right() -> None:
    engine, acceptance = FakeEngine(), Acceptance()
    decoder = Decoder(engine, {0: engine.prefill(0, [1])}, np.zeros(1, np.float32))
    drafts = AnswerDraft([[1, 2, 3, 4]], decoder, acceptance)
    for _ in range(60):
        acceptance.learn(1, is_accepted=False)
    low = acceptance.chance(1)
    for token in [1, 2, 3, 4] * 20:
        drafts.propose(3)
        drafts.verified([decoder.mixture])  # nothing was verified
        assert not drafts.accept(token)
    assert acceptance.chance(8) > 0.9
    assert acceptance.chance(1) >= low


def test_an_end_that_was_not_drafted_teaches_that_the_draft_was_wrong() -> None:
    drafting = Drafting("auto", costs=CHEAP)
    before = [drafting.acceptance.chance(matched) for matched in range(1, 9)]
    engine = FakeEngine()
    tokens, _ = written(engine, drafting, asked("the the the the").joined(), SamplingSettings(), 50)
    assert bytes(tokens) == b"the the the the"
    assert list(engine.tokens(0))[-len(tokens) :] == tokens
    assert any(drafting.acceptance.chance(matched) < was for matched, was in enumerate(before, 1))
