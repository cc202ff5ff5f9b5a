"""What is computed for a question while it is typed: tables of decisions, and limits that hold whatever is typed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.ahead.allowance import Allowance, refusal
from device_app.ahead.typing import (
    ENTER_S,
    LIKELY,
    MOST_CHARACTERS,
    MOST_PASSAGES,
    MOST_QUESTION_READS,
    MOST_SEARCHES,
    PAUSE_S,
    Draft,
    Ranking,
    Read,
    ReadQuestion,
    Search,
    Wait,
    chance,
    fits,
    next_step,
    searchable,
)
from device_app.settings import Daemon
from device_app.system.budget import read_ledger
from device_app.system.conditions import Conditions
from storage.paths import HOME_VARIABLE, Paths

CLEAR: Ranking = ((7, 0.9), (8, 0.5), (9, 0.45))
CLOSE: Ranking = ((7, 0.5), (8, 0.49), (9, 0.48))


@pytest.mark.parametrize(
    ("text", "whole_words", "whole"),
    [
        ("", "", ""),
        ("   ", "", ""),
        ("who", "", ""),
        ("who ", "", ""),
        ("who has", "", "who has"),
        ("who has the", "who has", "who has the"),
        ("who  has\nthe drill", "who has the", "who has the drill"),
        ("blue dri", "", "blue dri"),
        ("the blue dri", "the blue", "the blue dri"),
        ("the blue drills", "the blue dril", "the blue drills"),
        ("blue drill machine", "blue drill mach", "blue drill machine"),
        ("blue drill in the cellars", "blue drill in the cell", "blue drill in the cellars"),
        ("freshrp", "", ""),
        ("freshrpms", "freshrpm", "freshrpms"),
        ("list@freshrpms.net ", "list@freshrpms.net", "list@freshrpms.net"),
        ("/add ~/Documents now ", "", ""),
        (" /knowledge of all ", "", ""),
        (
            "w " * (MOST_CHARACTERS // 2),
            "w " * (MOST_CHARACTERS // 2 - 1) + "w",
            "w " * (MOST_CHARACTERS // 2 - 1) + "w",
        ),
        ("w " * MOST_CHARACTERS, "", ""),
    ],
)
def test_whole_words_are_searched_and_no_command_nor_a_long_text(text: str, whole_words: str, whole: str) -> None:
    assert searchable(text, is_whole=False) == whole_words
    assert searchable(text, is_whole=True) == whole


def draft(text: str, searched: str = "", ranking: Ranking = (), leads: int = 1) -> Draft:
    return Draft(text, changed_at=10.0, searched=searched, searches=1, ranking=ranking, leads=leads)


def after(state: Draft, question: str) -> Draft:
    """Return the state after this part of the question was prefilled behind passage 7."""
    return state.has_read_question(ReadQuestion(7, question, question.endswith("?")))


SEVEN = "who b c d e f g"
BRIEF = draft("the blue drills", "the blue dril", CLEAR).has_read(7)
AS_TYPED = ReadQuestion(7, "the blue drills", is_whole=True)
AGAIN, PAUSED = (ReadQuestion(7, text, is_whole=True) for text in ("who has it?", "who has it"))
TWO: Ranking = ((7, 2.0), (8, 1.9), (9, 0.0))


@pytest.mark.parametrize(
    ("now", "state", "step"),
    [
        (10.0, Draft(), Wait()),
        (10.0, draft("who"), Wait(PAUSE_S)),
        (10.1, draft("who has"), Wait(PAUSE_S - 0.1)),
        (10.0, draft("who has "), Search("who has")),
        (10.0 + PAUSE_S, draft("who has"), Search("who has")),
        (10.0, draft("who has it?"), Search("who has it?")),
        (10.0, draft("who has the", "who has", CLOSE), Wait(PAUSE_S)),
        (10.0, draft("who has the", "who has", CLEAR), Read(7)),
        (10.0, draft("who has it?", "who has it?", CLOSE), Read(7)),
        (10.0, draft("who has it?", "who has it?"), Wait()),
        (10.0, draft("who has it?", "who has it?", CLOSE).has_read(7), AGAIN),
        (10.0 + PAUSE_S, after(draft("who has it", "who has it", CLEAR).has_read(7), "who has it"), PAUSED),
        (10.0, draft("who has the", "who has", CLEAR).has_read(7), ReadQuestion(7, "who has")),
        (
            10.0,
            draft("who has it?", "who has it?", CLOSE).has_read(7).has_read_question(AGAIN, is_broken_off=True),
            AGAIN,
        ),
        (10.0, draft("who has the", "who has", CLEAR).has_read(8), Read(7)),
        (10.0, replace(draft("who has it?", "who has it?", CLEAR).has_read(7), is_readable=False), Wait()),
        (10.0, after(draft("who has it?", "who has it?", CLOSE).has_read(7), "who has"), AGAIN),
        (10.0, after(draft("who has the", "who has", CLEAR).has_read(7), "who"), Wait(PAUSE_S)),
        (10.0, after(draft(f"{SEVEN} h", SEVEN, CLEAR).has_read(7), "a"), ReadQuestion(7, SEVEN)),
        (10.0, after(draft(f"{SEVEN} h", SEVEN, CLEAR).has_read(7), "a b"), Wait(PAUSE_S)),
        (10.1, after(draft("who has it?", "who has it?", TWO).has_read(7), "who has it?"), Wait(PAUSE_S - 0.1)),
        (10.0 + PAUSE_S, after(draft("who has it?", "who has it?", TWO).has_read(7), "who has it?"), Read(8)),
        (10.1, after(draft("who has it?", "who has it?", TWO[1:]).has_read(7), "who has it?"), Read(8)),
        (10.1, after(draft("who has it? And t", "who has it? And", TWO).has_read(7), "who has it?"), Read(8)),
        (10.0, after(draft("who has it?", "who has it?", TWO).has_read(7), "who has it?").has_read(8), AGAIN),
        (10.0, BRIEF, Wait(ENTER_S)),
        (10.0 + ENTER_S, BRIEF, AS_TYPED),
        (10.0 + ENTER_S, BRIEF.has_read_question(AS_TYPED), Wait(PAUSE_S - ENTER_S)),
        (10.0 + ENTER_S, replace(BRIEF, read=frozenset()), Read(7)),
        (10.0 + ENTER_S, replace(BRIEF, question_reads=MOST_QUESTION_READS), Wait(PAUSE_S - ENTER_S)),
        (10.0, replace(draft("who has it?", "who has it?", CLOSE), read=frozenset((8, 9)), broken_off=4), Wait()),
        (
            10.0,
            replace(draft("who has it?", "who has it?", CLEAR), read=frozenset(range(20, 20 + MOST_PASSAGES))),
            Wait(),
        ),
        (10.0, replace(draft("who has it?"), searches=MOST_SEARCHES), Wait()),
        (10.0, draft("/wrong ", "who has", CLEAR), Wait(PAUSE_S)),
    ],
)
def test_the_next_step(now: float, state: Draft, step: object) -> None:
    taken = next_step(state, now)
    if isinstance(step, Wait) and step.seconds is not None:
        assert isinstance(taken, Wait)
        assert taken.seconds == pytest.approx(step.seconds)
    else:
        assert taken == step


@pytest.mark.parametrize(
    ("likelier", "less_likely"),
    [
        (draft("", "a b c", CLEAR), draft("", "a b c", CLOSE)),
        (draft("", "a b c", CLOSE, leads=3), draft("", "a b c", CLOSE, leads=1)),
        (draft("", "a b c d e f", CLOSE), draft("", "a b c", CLOSE)),
    ],
)
def test_a_passage_is_likelier_the_clearer_the_longer_first_and_the_more_is_typed(
    likelier: Draft, less_likely: Draft
) -> None:
    assert 0 < chance(less_likely, 0) < chance(likelier, 0) < 1
    assert chance(likelier, 2) <= chance(likelier, 1) < chance(likelier, 0)


@pytest.mark.parametrize(
    ("since_key_s", "gap_s", "piece_s", "begins"),
    [
        (0.01, 0.3, 0.001, False),
        (0.05, 0.3, 0.1, True),
        (0.19, 0.3, 0.1, True),
        (0.21, 0.3, 0.1, False),
        (0.31, 0.3, 0.1, False),
        (0.05, 0.3, 0.9, False),
        (0.6, 0.3, 0.9, True),
        (0.05, 0.0, 0.9, True),
    ],
)
def test_a_batch_begins_where_it_ends_before_the_next_key_or_none_comes(
    since_key_s: float, gap_s: float, piece_s: float, begins: bool
) -> None:
    assert fits(since_key_s, gap_s, piece_s) is begins


def test_a_text_that_was_erased_is_forgotten_but_not_what_it_cost() -> None:
    state = draft("who has ", "who has", CLEAR).has_read(7).typed(" ", 11.0)
    assert (state.searched, state.ranking, state.leads) == ("", (), 0)
    assert (state.searches, state.read) == (1, frozenset({7}))


def test_readings_that_are_broken_off_count_against_the_bound() -> None:
    state = draft("who has it?", "who has it?", CLEAR)
    for _ in range(MOST_PASSAGES - 1):
        state = state.has_read(7, is_broken_off=True)
    assert next_step(state, 10.0) == Read(7)
    assert next_step(state.has_read(7, is_broken_off=True), 10.0) == Wait()


def test_a_passage_that_is_read_takes_the_place_of_the_question() -> None:
    state = after(draft("who has it?", "who has it?", CLEAR).has_read(7), "who has it?")
    assert state.has_read(8).question is None
    assert state.has_read(8, is_broken_off=True).question is None


def test_searches_that_agree_lead() -> None:
    state = Draft()
    leads = []
    for ranking in (CLEAR, CLOSE, CLOSE[::-1], (), CLEAR):
        state = state.ranked("who has", ranking)
        leads.append(state.leads)
    assert leads == [1, 2, 1, 0, 1]


@given(
    st.lists(st.tuples(st.text("ab ?./", max_size=30), st.floats(0, 1)), max_size=60),
    st.lists(st.lists(st.tuples(st.integers(1, 30), st.floats(0, 1)), max_size=5), min_size=1),
)
def test_whatever_is_typed_for_however_long_is_bounded(
    texts: list[tuple[str, float]], rankings: list[list[tuple[int, float]]]
) -> None:
    state, now, searches, questions, reads = Draft(), 0.0, 0, 0, set[int]()
    for text, later in texts * 3:
        now += later
        state = state.typed(text, now)
        while not isinstance(step := next_step(state, now), Wait):
            if isinstance(step, Search):
                searches += 1
                best = sorted(dict(rankings[searches % len(rankings)]).items(), key=lambda scored: -scored[1])
                state = state.ranked(step.text, best)
            elif isinstance(step, ReadQuestion):
                assert step.passage in reads
                questions += 1
                state = state.has_read_question(step)
            else:
                assert step.passage not in reads
                reads.add(step.passage)
                state = state.has_read(step.passage)
    assert searches <= MOST_SEARCHES
    assert len(reads) <= MOST_PASSAGES
    assert questions <= MOST_QUESTION_READS


def test_nothing_is_read_below_its_chance() -> None:
    state = draft("who has the", "who has", CLOSE)
    assert chance(state, 0) < LIKELY
    assert isinstance(next_step(state, 10.0), Wait)


@pytest.mark.parametrize(
    ("conditions", "rules", "spent", "paused", "why"),
    [
        (Conditions(), Daemon(), None, False, None),
        (Conditions(quiet_s=0.0, load_per_core=0.4), Daemon(), None, False, None),
        (Conditions(load_per_core=0.6), Daemon(), None, False, "other programs"),
        (Conditions(), Daemon(), None, True, "paused"),
        (Conditions(), Daemon(), "200,000 tokens", False, "tokens"),
        (Conditions(on_mains=False, battery_percent=90), Daemon(), None, False, "on battery"),
        (Conditions(on_mains=False, battery_percent=90), Daemon(mains=False), None, False, None),
        (Conditions(on_mains=False, battery_percent=40), Daemon(mains=False), None, False, "under 50%"),
        (Conditions(temperature_c=95), Daemon(), None, False, "°C"),
    ],
)
def test_power_heat_and_budgets_are_those_of_work_ahead(
    conditions: Conditions, rules: Daemon, spent: str | None, paused: bool, why: str | None
) -> None:
    said = refusal(conditions, rules, spent, paused=paused)
    assert said is None if why is None else why in str(said)


def test_what_is_read_counts_within_the_hour_and_the_sensors_are_asked_now_and_then(tmp_path: object) -> None:
    paths, rules = Paths.locate({HOME_VARIABLE: str(tmp_path)}), Daemon(tokens_per_hour=300)
    now, looks = [1_000.0], []
    allowance = Allowance(lambda: looks.append(1) or Conditions(), lambda: now[0])  # type: ignore[func-returns-value]
    assert allowance.refusal(paths, rules) is None
    for _ in range(2):
        allowance.spend(paths, rules, 135_000_000, 150)
    assert "300 tokens" in str(allowance.refusal(paths, rules))
    assert len(looks) == 1
    assert sum(entry.tokens for entry in read_ledger(paths.typing_spent)) == 300
    now[0] += 3_700
    assert allowance.refusal(paths, rules) is None
    assert len(looks) == 2
