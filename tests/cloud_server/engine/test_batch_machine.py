"""A batch under random calls in any order: each answer equals the one generated alone, and no sequence keeps tokens
afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, initialize, invariant, multiple, rule
from hypothesis.stateful import run_state_machine_as_test as run

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Broken, Done, Draft, EngineEvent, Job, Supplied, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.decoder import Decoder
from models.drafts import draft, likeliest
from models.fake import VOCABULARY, FakeEngine
from shared.aggregation.distribution import encode
from shared.aggregation.messages import Rule
from tests.writing import CHANCE, LINES, RULES, alone, job, joint, same

SEQUENCES, CONTEXT, MOST_TOKENS = 6, 700, 12
tokens = st.integers(0, VOCABULARY - 1)


@dataclass(frozen=True)
class Supply:
    """A request for a distribution, and the tokens before its position at that time: a correction may change them
    later.
    """

    position: int
    count: int
    before: tuple[int, ...]
    due: bool  # near enough that there has to be an event


@dataclass
class Model:
    """The expected state of an answer, derived from the batch's events alone."""

    job: Job
    allowed: int
    drawn: list[int]
    epoch: int
    twin: Decoder | None = None
    supplied: list[Supply] = field(default_factory=list)  # asked for since the last step

    def expected(self) -> Draft:
        """The next expected draft, computed by a decoder that has an engine of its own."""
        assert self.job.rule
        if self.twin is None or self.twin.position > len(self.drawn):
            self.twin = alone(self.job, self.drawn)
        while self.twin.position < len(self.drawn):
            self.twin.append(self.drawn[self.twin.position])
        token, distribution = draft(self.job.rule, "server", self.twin.mixture, CHANCE, self.drawn)
        return Draft(0, self.epoch, len(self.drawn), token, distribution)

    @property
    def whole(self) -> bool:
        """Whether the last draft ends the answer."""
        drafted = len(self.drawn) > self.epoch
        ended = drafted and FakeEngine().is_end(self.drawn[-1])
        return ended or len(self.drawn) == self.job.max_tokens


class Batching(RuleBasedStateMachine):
    """Makes random calls to a batch: starts, corrects and ends answers, allows more tokens, requests distributions, and
    steps.
    """

    keys: Bundle[int] = Bundle("keys")

    @initialize(kept=st.sampled_from([0, 800, 100_000]), chunk=st.sampled_from([5, 64, 1000]))
    def start(self, kept: int, chunk: int) -> None:
        self.engine = FakeEngine(context=CONTEXT, sequences=SEQUENCES)
        self.batch = Batch(self.engine, PrefixCache(kept), chunk)
        self.models: dict[int, Model] = {}
        self.broken: set[int] = set()
        self.last = 0

    @rule(
        target=keys,
        rows=st.integers(1, 4),
        drawn_by=st.none() | st.sampled_from(RULES),
        accepted=st.sampled_from(["", "It i"]),
        ahead=st.integers(1, 6),
    )
    def join(self, rows: int, drawn_by: Rule | None, accepted: str, ahead: int) -> int | MultipleResults[int]:
        if drawn_by is None:
            asked = job("Head.\n", LINES[rows - 1], accepted=LINES[rows - 1][: len(accepted)], max_tokens=MOST_TOKENS)
        else:
            asked = joint(*LINES[:rows], accepted=accepted, max_tokens=MOST_TOKENS, drawn_by=drawn_by, ahead=ahead)
        if not self.batch.room().takes(asked):
            return multiple()
        self.last += 1
        self.models[self.last] = Model(asked, len(asked.accepted) + ahead, list(asked.accepted), len(asked.accepted))
        self.batch.join(self.last, asked, len(asked.accepted) + ahead)
        return self.last

    @rule(key=keys, more=st.integers(-2, 6))
    def allow(self, key: int, more: int) -> None:
        self.batch.allow(key, len(self.models[key].drawn) + more if key in self.models else 3)
        if model := self.models.get(key):
            model.allowed = max(model.allowed, len(model.drawn) + more)

    @rule(key=keys, data=st.data(), more=st.lists(tokens, min_size=1, max_size=5))
    def correct(self, key: int, data: st.DataObject, more: list[int]) -> None:
        model = self.models.get(key)
        if model is None or model.job.rule is None:
            return
        keep = data.draw(st.integers(0, len(model.drawn)))
        more = more[: MOST_TOKENS - keep] or more[:1]
        keep = min(keep, MOST_TOKENS - 1)
        self.batch.correct(key, keep, more)
        model.drawn[keep:] = more
        model.epoch, model.twin = len(model.drawn), None

    @rule(key=keys, wrong=st.sampled_from([(0, (VOCABULARY,)), (99, (5,)), (0, (-1,)), (-1, (5,)), (0, (5,) * 41)]))
    def correct_wrongly(self, key: int, wrong: tuple[int, Sequence[int]]) -> None:
        model = self.models.get(key)
        if model and model.job.rule:
            self.batch.correct(key, *wrong)
            del self.models[key]
            self.broken.add(key)

    @rule(key=keys, back=st.integers(0, 7), count=st.sampled_from([1, 16, VOCABULARY]))
    def supply(self, key: int, back: int, count: int) -> None:
        model = self.models.get(key)
        if model and model.job.rule == "greedy":
            position = len(model.drawn) - back
            self.batch.supply(key, position, count)
            due = max(model.epoch, len(model.drawn) - model.job.ahead) <= position < len(model.drawn)
            model.supplied.append(Supply(position, count, tuple(model.drawn[: max(position, 0)]), due))

    @rule(key=keys)
    def leave(self, key: int) -> None:
        self.batch.leave(key)
        self.models.pop(key, None)

    @rule(steps=st.integers(1, 30))
    def step(self, steps: int) -> None:
        for _ in range(steps):
            idle, computed = self.batch.idle, self.engine.computed
            events = self.batch.step()
            assert not (idle and (events or self.engine.computed > computed))
            self._check_supplied([event for event in events if isinstance(event, Supplied)])
            for event in events:
                self._check(event)
            assert not self.broken

    @invariant()
    def counts(self) -> None:
        assert len(self.batch) == len(self.models)
        room = self.batch.room()
        assert room.sequences == SEQUENCES - sum(len(model.job.rows) for model in self.models.values())
        assert room.cells == CONTEXT - sum(model.job.cells for model in self.models.values())
        held = [sequence for sequence in range(SEQUENCES) if self.engine.length(sequence)]
        assert len(held) <= SEQUENCES - room.sequences

    def teardown(self) -> None:
        for model in self.models.values():
            model.allowed = MOST_TOKENS
        for key in list(self.models):
            self.batch.allow(key, MOST_TOKENS)
        for _ in range(400):
            self.step(1)
        assert all(model.job.rule and model.whole for model in self.models.values())
        for key in list(self.models):
            self.batch.leave(key)
        assert self.batch.room().sequences == SEQUENCES
        assert not any(map(self.engine.length, range(SEQUENCES)))

    def _check(self, event: EngineEvent) -> None:
        if isinstance(event, Broken):
            self.broken.remove(event.key)
            return
        if not (model := self.models.get(event.key)):
            assert isinstance(event, Supplied)  # it left meanwhile
            return
        match event:
            case Draft():
                assert not model.whole
                assert len(model.drawn) < model.allowed
                assert same([event], [model.expected()])
                model.drawn.append(event.token)
            case Token(_, index, token):
                assert index == len(model.drawn) < model.allowed
                model.drawn.append(token)
            case Done():
                said = bytes(model.job.rows[0][1])
                assert bytes(model.drawn) == said.strip()[: model.job.max_tokens]
                del self.models[event.key]

    def _check_supplied(self, events: Sequence[Supplied]) -> None:
        """Check each supplied distribution, and that none is missing whose position is recent enough that the batch
        must supply it.
        """
        for key, model in self.models.items():
            asked = iter(model.supplied)
            for event in (event for event in events if event.key == key):
                supply = next(asked)
                while (supply.position, supply.count) != (event.position, len(event.distribution.ids)):
                    assert not supply.due
                    supply = next(asked)
                mixture = alone(model.job, supply.before).mixture
                expected = likeliest(mixture, CHANCE, supply.before, supply.count)
                assert encode(event.distribution) == encode(expected)
            assert not any(supply.due for supply in asked)
            model.supplied.clear()


def test_whatever_is_asked_each_answer_is_what_it_would_be_alone() -> None:
    run(Batching, settings=settings(max_examples=150, stateful_step_count=25))
