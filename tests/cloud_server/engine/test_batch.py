"""Many answers from one engine: each equals the answer generated alone, whichever answers start or end meanwhile."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Broken, Done, Draft, EngineEvent, Supplied, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.drafts import likeliest
from models.fake import FakeEngine
from shared.aggregation.distribution import Quantised, Top, encode
from shared.aggregation.messages import Rule
from tests.writing import CHANCE, FREE, LINES, RULES, alone, chain_behind, drafts_behind, job, joint, same


def new_batch(sequences: int = 4, context: int = 4096, kept: int = 0, chunk: int = 8) -> Batch:
    return Batch(FakeEngine(context=context, sequences=sequences), PrefixCache(kept), chunk)


def run(batch: Batch, most: int = 2000) -> Iterator[EngineEvent]:
    for _ in range(most):
        if not len(batch) or batch.idle:
            return
        yield from batch.step()
    raise AssertionError("it never ends")


def texts(events: list[EngineEvent]) -> dict[int, str]:
    """Return the text of each answer, after a check that its indexes have no gap."""
    said: dict[int, str] = {}
    places: dict[int, int] = {}
    for event in events:
        if isinstance(event, Token):
            assert event.index == places.setdefault(event.key, event.index)
            places[event.key] += 1
            said[event.key] = said.get(event.key, "") + event.text
    return said


def test_an_answer_is_written_to_its_end() -> None:
    batch = new_batch()
    batch.join(7, job("It is blue.\n"), FREE)
    *_, last = events = list(run(batch))
    assert texts(events) == {7: "It is blue."}
    assert isinstance(last, Done)
    assert (last.key, last.cut, last.joined, last.prefilled) == (
        7,
        False,
        0,
        len("It is blue.\nQuestion: q?\nassistant\n"),
    )
    assert not len(batch)


@given(
    lines=st.lists(st.text("abc ", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=8),
    kept=st.sampled_from([0, 400, 10_000]),
    seed=st.integers(0, 999),
)
def test_whoever_joins_and_leaves_each_answer_is_what_it_would_be_alone(lines: list[str], kept: int, seed: int) -> None:
    chance = random.Random(seed)
    batch = new_batch(sequences=3, kept=kept)
    waiting = dict(enumerate(lines))
    gone: set[int] = set()
    events: list[EngineEvent] = []
    while waiting or len(batch):
        for key, line in list(waiting.items()):
            if batch.room().takes(job("Head.\n", line + "\n")) and chance.random() < 0.5:
                batch.join(key, job("Head.\n", waiting.pop(key) + "\n"), FREE)
        events += batch.step()
        if chance.random() < 0.1:
            key = chance.randrange(len(lines))
            if key not in waiting:
                batch.leave(key)
                gone.add(key)
    said = texts(events)
    for key, line in enumerate(lines):
        if key not in gone:
            assert said.get(key, "") == line
    assert not any(isinstance(event, Broken) for event in events)


def test_what_was_written_elsewhere_is_gone_on_from() -> None:
    batch = new_batch()
    batch.join(1, job("It is blue.\n", accepted="It is"), FREE)
    events = list(run(batch))
    assert texts(events) == {1: " blue."}
    assert next(event.index for event in events if isinstance(event, Token)) == 5


def test_an_answer_rests_until_its_reader_allows_more() -> None:
    batch = new_batch()
    batch.join(1, job("It is blue.\n"), 5)
    batch.join(2, job("And green.\n"), FREE)
    events = list(run(batch))
    assert texts(events) == {1: "It is", 2: "And green."}
    batch.allow(1, 3)  # an old message changes nothing
    assert batch.idle
    batch.allow(1, FREE)
    assert texts(list(run(batch))) == {1: " blue."}


def test_a_limit_cuts() -> None:
    batch = new_batch()
    batch.join(1, job("It is blue.\n", max_tokens=4), FREE)
    *_, last = events = list(run(batch))
    assert texts(events) == {1: "It i"}
    assert isinstance(last, Done)
    assert last.cut


def test_what_is_accepted_beyond_the_limit_writes_nothing() -> None:
    batch = new_batch()
    batch.join(1, job("It is blue.\n", accepted="It is", max_tokens=4), FREE)
    assert [type(event) for event in run(batch)] == [Done]


def test_it_takes_no_more_than_there_is_room_for() -> None:
    batch = new_batch(sequences=2, context=300)
    small = job("a.\n", max_tokens=100)
    assert batch.possible(small)
    assert not batch.possible(job("a" * 300))
    batch.join(1, small, FREE)
    batch.join(2, small, FREE)
    assert not batch.room().takes(small)
    batch.leave(1)
    assert batch.room().takes(small)
    assert not batch.room().takes(job("a.\n", max_tokens=200))


def test_beginnings_are_joined_the_second_time() -> None:
    batch = new_batch(kept=100_000)
    joined = []
    for key, parts in enumerate((("Head.\n", "One.\n"), ("Head.\n", "One.\n"), ("Head.\n", "Two.\n"), ("One.\n",))):
        batch.join(key, job(*parts), FREE)
        *_, last = events = list(run(batch))
        assert texts(events) == {key: parts[-1].strip()}
        assert isinstance(last, Done)
        joined.append(last.joined)
    assert joined == [0, len("Head.\nOne.\n"), len("Head.\n"), 0]


def test_states_kept_stay_within_their_bytes() -> None:
    engine, kept = FakeEngine(), PrefixCache(1000)
    batch = Batch(engine, kept, 8)
    for key in range(20):
        batch.join(key, job(f"Line {key}.\n"), FREE)
        list(run(batch))
        assert kept.bytes <= 1000
    assert len(kept) == 1000 // (len("Line 19.\n") * 16)


def test_of_a_prompt_that_is_too_long_to_keep_the_beginning_is_kept() -> None:
    parts = ("Head.\n", *(f"Passage {number}.\n" for number in range(9)))
    kept = PrefixCache(sum(map(len, parts[:4])) * 16)
    batch, joined = Batch(FakeEngine(), kept, 8), []
    for key, passages in enumerate((parts, parts, ("Head.\n", "Other.\n"), parts)):
        batch.join(key, job(*passages), FREE)
        joined += [event.joined for event in run(batch) if isinstance(event, Done)]
    assert joined == [0, sum(map(len, parts[:4])), len("Head.\n"), sum(map(len, parts[:4]))]


@pytest.mark.parametrize("where", ["prefill", "decode"])
def test_what_the_engine_cannot_do_breaks_that_answer_alone(where: str) -> None:
    class Failing(FakeEngine):
        fails = False

        def prefill(self, sequence, tokens):  # type: ignore[no-untyped-def]
            fails = self.fails and where == "prefill" and len(tokens) > 1
            return super().prefill(sequence, [9999] if fails else tokens)

        def decode(self, tokens):  # type: ignore[no-untyped-def]
            return super().decode({9: 1} if self.fails and where == "decode" else tokens)

    engine = Failing()
    batch = Batch(engine, PrefixCache(0), 100)
    batch.join(1, job("It is blue.\n"), FREE)
    batch.step()
    engine.fails = True
    if where == "prefill":
        batch.join(2, job("And green.\n"), FREE)
    broken = [event.key for event in batch.step() if isinstance(event, Broken)]
    assert broken == [2 if where == "prefill" else 1]
    engine.fails = False
    batch.join(3, job("Red.\n"), FREE)
    assert texts(list(run(batch)))[3] == "Red."


# Written together: drafts ahead, and what they become.


def drafted(events: Iterable[EngineEvent], key: int = 1) -> list[Draft]:
    return [event for event in events if isinstance(event, Draft) and event.key == key]


def test_drafts_are_made_up_to_the_cap_and_an_answer_beside_them_is_itself() -> None:
    batch, asked = new_batch(), joint("It is blue.\n")
    batch.join(1, asked, 5)
    batch.join(2, job("And green.\n"), FREE)
    events = list(run(batch))
    assert [made.token for made in drafted(events)] == drafts_behind(asked, (), 5)
    assert [(made.epoch, made.position) for made in drafted(events)] == [(0, at) for at in range(5)]
    assert texts(events) == {2: "And green."}
    assert batch.idle
    batch.allow(1, 7)
    assert [made.token for made in drafted(run(batch))] == drafts_behind(asked, (), 7)[5:]


@given(
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.binary(min_size=1, max_size=3)), max_size=8),
    accepted=st.sampled_from(["", "It"]),
    wait=st.booleans(),
)
def test_whatever_is_corrected_it_drafts_on_behind_what_is_settled(
    steps: list[tuple[int, int, bytes]], accepted: str, wait: bool
) -> None:
    batch, asked = new_batch(chunk=8 if wait else 4096), joint("It is blue.\n", accepted=accepted)
    batch.join(1, asked, len(accepted) + 4)
    batch.join(2, job("And green.\n"), FREE)
    settled, epoch = list(accepted.encode()), len(accepted)
    chain: list[int] = []
    events: list[EngineEvent] = []

    def step() -> None:
        fresh = batch.step()
        events.extend(fresh)
        for made in drafted(fresh):
            assert (made.epoch, made.position) == (epoch, epoch + len(chain))
            chain.append(made.token)

    for most, kept, tokens in steps:
        for _ in range(most):
            step()
        kept_drafts = chain[:kept]
        if kept_drafts and FakeEngine().is_end(kept_drafts[-1]):
            kept_drafts = []
        keep = epoch + len(kept_drafts)
        settled = [*settled, *kept_drafts, *tokens]
        chain, epoch = [], len(settled)
        batch.correct(1, keep, tokens)
        batch.allow(1, epoch + 4)
    for _ in range(200):
        step()
    assert chain == drafts_behind(asked, settled, 4)
    assert texts(events) == {2: "And green."}
    batch.leave(1)
    assert not len(batch)


def test_what_is_settled_while_the_prompt_is_read_counts() -> None:
    batch, asked = new_batch(), joint(*LINES[:2], accepted="It is", ahead=8)
    batch.join(1, asked, 0)
    batch.correct(1, 2, b"abc")
    batch.step()
    batch.correct(1, 1, b"nto")
    batch.correct(1, 4, b"?")
    batch.allow(1, 9)
    assert [made.token for made in drafted(run(batch))] == drafts_behind(asked, b"Into?", 4)


@pytest.mark.parametrize("bad", [(0, (5, 10**6)), (0, (-1,)), (99, (5,))])
def test_a_wrong_correction_breaks_its_own_answer_alone(bad: tuple[int, tuple[int, ...]]) -> None:
    batch = new_batch()
    batch.join(1, joint("It is blue.\n"), 5)
    batch.join(2, job("And green.\n"), FREE)
    for _ in range(6):
        batch.step()
    for _ in range(2):
        batch.correct(1, *bad)
    assert not batch.idle
    events = list(run(batch))
    assert [event.key for event in events if isinstance(event, Broken)] == [1]
    assert texts(events)[2].endswith("green.")
    batch.correct(1, 0, (5,))  # of an answer that is gone
    assert not len(batch)


def test_behind_an_end_token_it_drafts_nothing_until_it_is_corrected() -> None:
    batch, asked = new_batch(), joint("Hi\n", drawn_by="greedy")
    batch.join(1, asked, FREE)
    drafts = drafted(run(batch))
    assert FakeEngine().is_end(drafts[-1].token)
    assert batch.idle
    batch.correct(1, len(drafts) - 1, b"!")
    assert not batch.idle
    assert drafted(run(batch))[0].epoch == len(drafts)


def test_a_token_is_told_before_it_is_read_and_a_draft_that_is_wrong_never_is() -> None:
    engine, asked = FakeEngine(), joint("It is blue.\n")
    batch = Batch(engine, PrefixCache(0), 1000)
    batch.join(1, asked, FREE)
    batch.join(2, job("And green.\n"), 1)
    assert len(drafted(batch.step())) == 1
    assert engine.computed == asked.prompt_tokens
    batch.correct(1, 0, b"!")
    assert [made.position for made in drafted(batch.step())] == [1]
    assert bytes(engine.tokens(batch._answers[1].sequences[0])).endswith(b"assistant\n!")
    assert engine.computed == asked.prompt_tokens + 1 + job("And green.\n").prompt_tokens


def test_what_is_settled_up_to_the_limit_leaves_nothing_to_draft() -> None:
    engine, asked = FakeEngine(), joint("It is blue.\n", max_tokens=6)
    batch = Batch(engine, PrefixCache(0))
    batch.join(1, asked, FREE)
    assert len(drafted(run(batch))) == 6
    assert engine.computed == asked.prompt_tokens + 5  # the last need not be read
    batch.correct(1, 2, b"abc")
    assert [made.position for made in drafted(run(batch))] == [5]
    batch.correct(1, 2, b"abcd")
    assert not drafted(run(batch))


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("drawn_by", RULES)
def test_drafts_are_those_of_whoever_has_the_engine_for_himself(drawn_by: Rule, rows: int) -> None:
    batch, asked = new_batch(sequences=5, kept=100_000), joint(*LINES[:rows], drawn_by=drawn_by)
    for key in (1, 3):  # the second time, beginnings are joined
        batch.join(key, asked, 6)
        batch.join(2, job("And green.\n"), FREE)
        events = list(run(batch))
        assert texts(events) == {2: "And green."}
        assert same(drafted(events, key), chain_behind(asked, (), 6))
        batch.leave(key)
    tails = rows * len(asked.rows[0][-1])
    assert batch.joined == asked.prompt_tokens - tails + len("And green.\n")
    kinds = {type(batch.distribution) for batch in drafted(events, 3)}
    assert kinds == {{"coupled": type(None), "algorithm1": Quantised, "greedy": Top}[drawn_by]}


def test_rows_that_can_never_fit_are_not_possible() -> None:
    batch = new_batch(sequences=3, context=400)
    assert batch.possible(joint(*LINES[:3]))
    assert not batch.possible(joint(*LINES[:4]))  # more than there are sequences
    assert not batch.possible(joint(*LINES[:3], max_tokens=100))  # each row may take all of these cells
    assert not batch.possible(replace(joint("A.\n"), rows=()))
    batch.join(1, joint(*LINES[:2]), FREE)
    assert not batch.room().takes(joint(*LINES[:2], max_tokens=1))
    assert batch.room().takes(joint(LINES[0], max_tokens=1))


def test_rows_share_the_cells_of_their_head() -> None:
    engine, asked = FakeEngine(), joint(*LINES)
    batch = Batch(engine, PrefixCache(0), 8)
    batch.join(1, asked, 0)
    list(run(batch))
    assert engine.computed == asked.prompt_tokens == batch.prefilled
    assert asked.shared == len("Head.\n")


def test_more_of_a_distribution_is_supplied_as_long_as_it_is_kept() -> None:
    batch, asked = new_batch(), joint(*LINES[:2], drawn_by="greedy", ahead=4)
    batch.join(1, asked, 4)
    list(run(batch))
    for position in range(6):
        batch.supply(1, position, 100)
    batch.supply(7, 0, 1)
    supplied = [event for event in run(batch) if isinstance(event, Supplied)]
    tokens = drafts_behind(asked, (), 4)
    for position, event in enumerate(supplied):
        mixture = alone(asked, tokens[:position]).mixture
        expected = likeliest(mixture, CHANCE, tokens[:position], 100)
        assert (event.key, event.position, encode(event.distribution)) == (1, position, encode(expected))
        assert tokens[position : position + 1] in ([], [int(expected.ids[expected.probabilities.argmax()])])
    assert len(supplied) == 5
    batch.correct(1, 2, b"!")
    batch.supply(1, 3, 16)  # of a chain that was cut
    assert not [event for event in batch.step() if isinstance(event, Supplied)]
