"""The benchmark of speculative drafts: its counts and costs, on small examples that can be checked by hand."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.fake import FakeEngine
from models.sampling import SamplingSettings
from models.speculative.costs import DraftCosts, PassCosts
from scripts.benchmarks import dovetail, dovetail_bars, dovetail_timed, dovetail_trees
from scripts.benchmarks.dovetail_arms import Answer, Arm, accepted_shares, drafting, fixed, in_turn, replayed
from scripts.benchmarks.dovetail_network_trees import tokens_per_pass
from scripts.benchmarks.dovetail_prompts import Library, prompts
from scripts.benchmarks.dovetail_trained import OnTarget
from scripts.datasets.retrieval_sets import RetrievalSet
from scripts.places import CannotRun
from shared.prompt import CHATML, build, turn
from shared.types import Block, Document, StoredPassage
from tests.models.speculative.networks import Knowing, small_shape

CHEAP = PassCosts(((1, 1.0), (4, 1.5), (16, 3.0)), is_exact=True)
DEAR = PassCosts(((1, 1.0), (16, 16.0)), is_exact=True)
INFO = FakeEngine().info


def answer(read: str, tokens: str, kind: str = "chats") -> Answer:
    return Answer(kind, turn(read), tuple(read.encode()), tuple(tokens.encode()))


def test_lookup_drafts_three_tokens_after_two_that_matched() -> None:
    # "b" matched alone. After "bc" the draft is "def", after "bcdefg" it is "hbc", of which "h" is right.
    passes = replayed(answer("abcdefgh", "bcdefghx"), fixed(3, 2), INFO)
    assert passes.sizes == {1: 2, 4: 2}
    assert passes.tokens == 8


def test_passes_are_priced_by_their_size_and_drafting_by_its_time() -> None:
    passes = replayed(answer("abcdefgh", "bcdefghx"), fixed(3, 2), INFO)
    passes.seconds = 0.0
    price = PassCosts(((1, 1.0), (4, 1.8)), is_exact=True)
    assert passes.speedup(price, 0.1) == pytest.approx(8 / (2 + 2 * 1.8))
    passes.seconds = 0.3
    assert passes.speedup(price, 0.1) == pytest.approx(8 / (2 + 2 * 1.8 + 3))


@given(
    read=st.text("ab ", min_size=1, max_size=30),
    tokens=st.text("ab ", min_size=1, max_size=60),
    arm=st.sampled_from(["none", "lookup", "auto"]),
    costs=st.sampled_from([CHEAP, DEAR]),
)
def test_a_replay_reads_each_token_once(read: str, tokens: str, arm: Arm, costs: PassCosts) -> None:
    passes = replayed(answer(read, tokens), drafting(arm, costs), INFO)
    assert passes.tokens == len(tokens)
    assert passes.count <= len(tokens) <= sum(size * count for size, count in passes.sizes.items())
    if arm == "none" or (arm == "auto" and costs is DEAR):
        assert passes.sizes == {1: len(tokens)}


def test_acceptance_is_counted_by_what_matched() -> None:
    shares = accepted_shares([answer("abcd", "abcx")], INFO)
    # After "a" the draft is "bcd": "b" after one that matched, "c" after two, "d" after three, where "x" was drawn.
    assert shares == {
        "1": {"drafted": 1, "accepted": 1.0},
        "2": {"drafted": 1, "accepted": 1.0},
        "3": {"drafted": 1, "accepted": 0.0},
    }


def test_kinds_take_turns() -> None:
    first, second, third = answer("a", "a"), answer("b", "b", "mail"), answer("c", "c")
    assert in_turn({"chats": [first, third], "mail": [second]}) == [first, second, third]


def test_priced_figures_say_what_auto_would_gain_where_it_may_not_draft() -> None:
    by_kind = {"chats": [answer("abcdefgh" * 3, "abcdefgh" * 4)]}
    inexact = PassCosts(CHEAP.ratios, is_exact=False)
    table = dovetail.replay(by_kind, inexact, CHEAP, INFO, 10.0)
    assert table["none"]["speedup"] == pytest.approx(1, abs=0.01)
    assert table["auto"]["tokens_per_pass"] == 1
    assert table["auto_inexact"]["speedup"] > 2
    assert "auto_inexact" not in dovetail.replay(by_kind, CHEAP, CHEAP, INFO, 10.0)


def test_a_trained_network_is_replayed_beside_lookup() -> None:
    shape = small_shape(tokens=INFO.vocabulary)
    known, other = answer("abc", "the quick brown fox jumps"), answer("abc", "over the lazy dog")
    features = {own.tokens: np.zeros((len(own.tokens), shape.width), np.float32) for own in (known, other)}
    network = Knowing(shape, [*known.read, *known.tokens])
    trained = OnTarget(network, DraftCosts(0.01, 1e-6), features, set())
    passes = trained.replayer(CHEAP, INFO)
    first, second = passes(known), passes(other)
    alone = replayed(known, drafting("auto", CHEAP), INFO)
    assert (first.tokens, second.tokens) == (len(known.tokens), len(other.tokens))
    assert first.count < 0.7 * alone.count
    assert second.count > first.count


def test_trees_of_a_network_give_the_tokens_on_their_paths() -> None:
    shape = small_shape(tokens=INFO.vocabulary)
    known = answer("abc", "the quick brown fox jumps")
    features = {known.tokens: np.zeros((len(known.tokens), shape.width), np.float32)}
    network = Knowing(shape, [*known.read, *known.tokens])
    table = tokens_per_pass(network, [known], features)
    assert list(table) == ["depth 4, 7 candidates", "depth 7, 15 candidates", "depth 7, 60 candidates"]
    for own in table.values():
        assert 1.5 < own["network"] <= 3  # it is wrong about each third token
        assert own["with_lookup"] >= own["network"] - 0.2


def arms(speedup: float, **kinds: float) -> dict[str, Any]:
    return {"auto": {"speedup": speedup, "kinds": kinds}}


@pytest.mark.parametrize(
    ("figures", "count"),
    [
        ({}, 0),
        ({"1.7b-q8_0": arms(1.55, chats=1.0)}, 0),
        ({"1.7b-q8_0": arms(1.54, chats=1.0)}, 1),
        ({"360m-q8_0": arms(1.0, chats=0.98, mail=0.96)}, 1),
        ({"3b-q8_0": arms(1.0, chats=0.5)}, 2),
        ({"1.7b-q8_0": arms(1.55) | {"trained": {"speedup": 1.66, "kinds": {}}}}, 0),
        ({"1.7b-q8_0": arms(1.60) | {"trained": {"speedup": 1.64, "kinds": {}}}}, 2),
    ],
)
def test_bars_that_are_missed_are_named(figures: dict[str, Any], count: int) -> None:
    assert len(dovetail_bars.missed(figures)) == count


def test_arms_write_the_same_in_real_time_and_leave_the_prompt() -> None:
    engine = FakeEngine()
    note = "the blue drill and the blue saw and the blue drill"
    prompt = build("Which?", [StoredPassage(0, note, 0, None, None, 0, "Note", "note", None, (), "")]).joined()
    segments = (*prompt.head, *prompt.passages[0], *prompt.tail)
    read = tuple(token for part in segments for token in engine.tokenize(part.text, special=part.special))
    answers = [Answer("chats", prompt, read, tuple(b"x" * 40))] * 2
    done = dovetail_timed.rounds(engine, answers, CHEAP, 30, [SamplingSettings(), SamplingSettings(temperature=0.7)])
    assert engine.length(0) == 0
    assert dovetail_timed.same_text(done) == {"lookup": [True, True], "auto": [True, True]}
    figures = dovetail_timed.figures(done)
    assert figures["none"]["real_speedup"] == figures["none"]["real_tokens_per_pass"] == 1
    assert figures["auto"]["real_tokens_per_pass"] > 1


def test_costs_in_processor_time_leave_the_engine_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dovetail_timed, "_SECONDS", 0)
    engine = FakeEngine()
    costs = dovetail_timed.cpu_costs(engine, answer("abc", "abcdefgh"), [1, 2, 4])
    assert [size for size, _ in costs.ratios] == [1, 2, 4]
    assert engine.length(0) == 0


def documents(*texts: str) -> RetrievalSet:
    return RetrievalSet(
        {
            "file": [
                Document(f"d{number}", "note", f"Note {number}", (Block(text),)) for number, text in enumerate(texts)
            ]
        },
        [],
    )


def test_the_relevant_passage_comes_first_then_the_nearest() -> None:
    library = Library(documents("The cat sat.", "The dog barked.", "The dog and the cat met a horse.", "Rain."))
    near = library.nearest("Did the dog meet the horse?", frozenset({"d1"}), 3)
    assert [passage.text for passage in near[:2]] == ["The dog barked.", "The dog and the cat met a horse."]
    assert len(near) == 3


def write_lines(path: Path, *objects: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in objects), encoding="utf-8")


def test_prompts_are_split_and_have_one_to_three_passages(tmp_path: Path) -> None:
    days = [f"202601{day:02}_10:00" for day in range(10, 30)]
    write_lines(
        tmp_path / "lihuaworld/docs.jsonl", *({"id": f"{day.replace(':', '')}", "text": "Li: Hi."} for day in days)
    )
    write_lines(
        tmp_path / "lihuaworld/queries.jsonl",
        *({"question": f"What on {day}?", "evidence": day, "type": "Single", "answer": "Hi."} for day in days),
    )
    write_lines(tmp_path / "email/mail.jsonl", {"id": "m", "body": "Hello.", "date": "2002-01-01", "from": "Ann"})
    write_lines(tmp_path / "email/queries.jsonl", {"query": "Hello", "relevant_ids": ["m"]})
    write_lines(tmp_path / "nq_passages/passages.jsonl", {"pid": 0, "title": "Bees", "text": "Bees fly."})
    write_lines(tmp_path / "nq_passages/questions.jsonl", {"question": "do bees fly", "answers": [], "gold_pid": 0})
    write_lines(tmp_path / "prompts/mt_bench.jsonl", *({"turns": [f"Write {number}."]} for number in range(20)))
    write_lines(
        tmp_path / "prompts/instructions.jsonl",
        *({"instruction": f"Say {number}.", "instances": [{"input": "now"}]} for number in range(20)),
    )
    halves = [
        {kind: list(some) for kind, some in prompts(tmp_path, CHATML, held_out=side).items()} for side in (True, False)
    ]
    assert {kind: sum(len(half[kind]) for half in halves) for kind in halves[0]} == {
        "chats": 20,
        "mail": 1,
        "encyclopaedia": 1,
        "bare": 40,
    }
    assert all(len(half["chats"]) > 1 < len(half["bare"]) for half in halves)
    for half in halves:
        assert [prompt.text().count("Li: Hi.") for prompt in half["chats"][:3]] == [1, 2, 3][: len(half["chats"])]


def test_without_data_it_cannot_run() -> None:
    with pytest.raises(CannotRun, match="--data"):
        dovetail.run(Namespace(data=None))


def test_targets_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="9b"):
        dovetail.run(Namespace(data=tmp_path, targets="9b", quick=False))


def test_a_tree_finds_in_a_side_branch_what_a_chain_misses() -> None:
    # After " ab", "x" came; after "ab" alone, "c", which the answer takes.
    passes = {
        count: dovetail_trees.replayed([answer("abcd abx ", "abcd")], count, fixed_costs(7), INFO) for count in (1, 2)
    }
    assert passes[1].tokens == passes[2].tokens == 4
    assert passes[2].count < passes[1].count


def fixed_costs(most: int) -> PassCosts:
    return PassCosts(((1, 1.0), (most + 1, 1.0), (most + 2, 1e6)), is_exact=True)


def test_trees_and_chains_are_reported_by_size_and_priced() -> None:
    answers = [answer("abcd abx abcd abe " * 3, "abcd abx abcd abe " * 3)]
    table = dovetail_trees.sizes(answers, INFO)
    assert set(table) == {"7", "15"}
    assert all(own["tree"] >= own["chain"] > 1 for own in table.values())
    priced = dovetail_trees.priced(answers, CHEAP, CHEAP, INFO, 10.0)
    assert priced["auto_tree"]["speedup"] > 1
    dear = dovetail_trees.priced(answers, DEAR, DEAR, INFO, 10.0)
    assert dear["auto_tree"]["tokens_per_pass"] == 1


@pytest.mark.parametrize("children", [[], [2], [0, 3], [3, 1, 2], [0, 1, 2, 3]])
def test_the_papers_acceptance_draws_from_the_models_distribution(children: list[int]) -> None:
    """Tokens accepted by the paper's rule follow the model's distribution.

    With 20,000 draws, the standard error of a share is at most .0035.
    """
    probabilities, generator = np.array([0.5, 0.3, 0.15, 0.05]), np.random.default_rng(1)
    drawn = [dovetail_trees.paper_draw(probabilities, children, generator) for _ in range(20_000)]
    shares = np.bincount([token for token, _ in drawn], minlength=4) / len(drawn)
    assert shares == pytest.approx(probabilities, abs=0.015)
    assert np.mean([is_child for _, is_child in drawn]) == pytest.approx(probabilities[children].sum(), abs=0.015)
    assert all((token in children) == is_child for token, is_child in drawn)


def test_acceptance_is_measured_beside_the_model_and_leaves_it_empty() -> None:
    engine = FakeEngine()
    shares = dovetail_trees.acceptance(engine, [answer("the blue drill and the red drill\n", "the blue drill")], 0.7)
    assert set(shares) == {"drawn", "paper", "expected", "bonus_error"}
    assert all(0 <= share <= 1 for share in shares.values())
    assert engine.length(0) == 0
