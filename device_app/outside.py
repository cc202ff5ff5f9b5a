"""What the server adds to an answer: nothing, its passages, half of the writing or, where the files have nothing, all.

Nothing leaves for a question that the files answer (`knowledge.beyond`); which way pays is `dispatch.aggregating`'s.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from device_app.abstention import not_told
from device_app.answer import APART, WENT_ON, Answer, Found, Wrote, unsupported
from device_app.asked import Asked
from device_app.cache.qkv_tree import QKVTree
from device_app.dispatch.aggregating import Choice, Limits, Plan, Work, choose
from device_app.dispatch.public import CONNECT_S, PublicQuestions
from device_app.fitting import SHORT_ANSWER
from device_app.knowledge import beyond, evidence
from device_app.knowledge.proof import Subject
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.options import Options
from device_app.sources.aggregated import Aggregated, Together
from device_app.sources.fetched import Fetched
from device_app.sources.local import ROW_COST, LocalSource
from shared.aggregation.messages import Rule
from shared.aggregation.weights import RELEVANCE_TEMPERATURE
from shared.errors import EngineError, LinkError
from shared.printable import counted
from shared.prompt import Prompt
from shared.public import hit as public_hit
from shared.text import PASSAGE_WORDS, embedded_text
from shared.trace import Trace
from shared.types import Hit
from storage.vectors import Vectors

OWN: Final = "your own files answer it, so that all of it stays on this device"
UNTOLD: Final = "what your own files hold near it does not answer it"
FORCED: Final = "both sides wrote it, as was asked for"
ALONE: Final = "no companion server is connected, or link.allowed is off: jackdaw status"
UNASKED: Final = "link.together = asked sends nothing of it, unless you ask with --together, or /together"
NEARER: Final = "the server has nothing nearer to it"
FULL: Final = "this device had no room to read the server's passages"

PASSAGE_TOKENS: Final = 1.4 * PASSAGE_WORDS
"""Of a server's passage, before it is there."""

NEAR: Final = 3 * RELEVANCE_TEMPERATURE
"""A passage of the server that fits the question worse than the best one by more than this would weigh under .05."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What is done about a question, and why, for the person.

    `joint` is the answer where both sides write it. `lacks` is what the files do not hold of what is asked for, where a
    server was not asked for it, or did not answer: the next time it may.
    """

    plan: Plan = "alone"
    why: tuple[str, ...] = ()
    lacks: str = ""
    joint: Aggregated | None = None

    def sources(self, own: Sequence[Hit], *, drawn: bool = False) -> Sequence[Hit]:
        """With what the server has found for an answer of both sides; once `drawn`, only if a token was from it."""
        if self.joint is None:
            return own
        report = self.joint.report
        return [*own, *map(public_hit, report.sources if drawn else report.passages)]

    def told(self, answer: Answer) -> Answer:
        """The answer with why it came about as it did, and who wrote it."""
        if self.plan == "fetch":
            theirs = sum(hit.side == "server" for hit in answer.hits)
            told = (
                f"this device wrote from your files and {counted(theirs, 'passage')} of the server" if theirs else FULL
            )
            return replace(answer, decided=(*self.why, told))
        if self.joint is None:
            why = tuple(UNTOLD if answer.abstained and one == OWN else one for one in self.why)
            return replace(answer, decided=why, lacks=self.lacks)
        report, why = self.joint.report, self.why
        if report.alone:
            since = f" from token {report.together} on" if report.together else ""
            why = (*why[:-1], f"{WENT_ON}{since}: {_clause(report.alone)}")
        return replace(answer, written="aggregated" if report.together else "device", decided=why)


@dataclass(frozen=True, slots=True)
class Outside:
    """`public` is None without a server that may be asked."""

    public: PublicQuestions | None
    retriever: Retriever
    tree: QKVTree

    @staticmethod
    def passages(options: Options) -> int:
        """How many passages are looked for, the best first: those that are read, and those that `lacking` is shown."""
        return max(options.plan.passages, beyond.NEAR)

    def looks(self, options: Options) -> bool:
        """Whether a server is asked, unasked, for what the files lack."""
        return self.public is not None and options.public and options.reach != "asked"

    def begin(self, one: Asked, source: LocalSource, leaving: ExitStack) -> Begun:
        """Let the server begin an answer that is to be written together, until `leaving` is closed."""
        if one.private:
            return Begun(why=(_apart(one.private),))
        if self.public is None or not one.options.public:
            return Begun(why=(_apart(ALONE),))
        try:
            return Begun("together", (FORCED,), joint=self._together(one, source, leaving))
        except LinkError as error:
            return Begun(why=(_apart(str(error)),))

    def decide(self, one: Asked, lacking: str, source: LocalSource, prompt: Prompt, leaving: ExitStack) -> Begun:
        """What is done about a question of which the files lack this and a server may be asked (`at_home`); `prompt` is
        that of what they have.
        """
        assert self.public is not None
        link = self.public.link
        state = link.wait(CONNECT_S)
        if not state.connected:
            return Begun(why=(lacking, _alone(state.told())), lacks=lacking)
        choice = self.choice(one.query.text, source, prompt, one.options, state.round_trip_s, link.apart)
        try:
            joint = self._together(one, source, leaving) if choice.plan == "together" else None
        except LinkError as error:
            return Begun(why=(lacking, _apart(str(error))), lacks=lacking)
        return Begun(choice.plan, (lacking, choice.reason), joint=joint)

    def at_home(self, one: Asked, lacking: str) -> Begun | None:
        """What is done about a question of which the files lack this, where no server may be asked; else None."""
        if self.public is None or not one.options.public:
            return Begun(lacks=lacking)
        if not lacking:
            return Begun(why=(one.private or OWN,))
        return None if self.looks(one.options) else Begun(why=(lacking, UNASKED), lacks=lacking)

    def lacking(self, asked: Query, near: Sequence[Hit]) -> str:
        """What the question asks for beyond the files, in words; "" where that is nothing, or nothing for a server."""
        if asked.is_limited or asked.is_open:
            return ""
        words = self.retriever.beyond(asked, near)
        return f"your files say nothing of {' and '.join(f'“{word}”' for word in words[:3])}" if words else ""

    def choice(
        self,
        question: str,
        source: LocalSource,
        prompt: Prompt,
        options: Options,
        round_trip_s: float | None = None,
        apart: str = "",
    ) -> Choice:
        """Which way pays for a question that goes beyond the files, as far as is known of the server. Asks nobody."""
        assert self.public is not None
        if not self.looks(options):
            return Choice("alone", UNASKED)
        weighed = self.public.weighed(question, options.max_tokens)
        answer = min(weighed.knowledge.answers.quantile(0.5), options.max_tokens)
        rows = 2 * options.plan.passages if self.arranged(options).plan.arrangement == "rows" else 1
        mixing = ROW_COST * max(rows - max(len(prompt.passages), 1), 0)
        work = Work(source.cost(prompt, self.tree), options.plan.passages * PASSAGE_TOKENS, answer, mixing)
        limits = Limits(
            agreed=options.reach == "fitting",
            apart=apart,
            fits=source.room(prompt) - work.public >= min(options.max_tokens, SHORT_ANSWER),
            spared=weighed.budget.constraint == "server" and weighed.allowed <= 0,
        )
        known = self.public.memory.held.profile.known(
            source.count(prompt) + answer / 2,
            weighed.knowledge.server.quantile(0.5),
            1 / weighed.rates["server"],
            round_trip_s,
        )
        return choose(known, work, weighed.reading_rate, limits)

    @staticmethod
    def arranged(options: Options) -> Options:
        """How passages of both sides are read: a row each by a model that answers best from one at a time.

        That is the mixture that both sides would write. In one prompt it finds less (`scripts/bench answers`).
        """
        alone = options.plan.passages == 1
        return replace(options, plan=replace(options.plan, arrangement="rows")) if alone else options

    def fetch(self, one: Asked, own: Sequence[Hit], begun: Begun) -> tuple[Sequence[Hit], Begun]:
        """Those of the files and, behind them, those of the server that fit the question as well."""
        assert self.public is not None
        fetched, link, lacking = Fetched(), self.public.link, begun.why[0]
        try:
            with one.trace.step("search"):
                fetched.search(link, one.query.text, one.options.plan.passages)
        except LinkError as error:
            return own, Begun(why=(lacking, _alone(str(error))), lacks=lacking)
        finally:
            one.ledger.left(fetched.sent_bytes, ("the question",))
        held = self.public.memory.held
        profile = held.profile.searched(fetched.seconds, link.state.round_trip_s)
        self.public.memory.hold(replace(held, profile=profile))
        found = self._near(one.vector, own, [public_hit(passage) for passage in fetched.passages])
        return ([*own, *found], begun) if found else (own, Begun(why=(lacking, NEARER)))

    def answer(self, one: Asked) -> Iterator[Found | Wrote | Answer]:
        """An answer from the server's passages alone, on whichever side is better for it. Raises as `public.answer`."""
        assert self.public is not None
        asked, options, trace = one.query.text, one.options, one.trace
        passages = options.plan.passages
        for event in self.public.answer(asked, options.sampling, options.max_tokens, passages, trace, one.ledger):
            if isinstance(event, Answer) and not event.abstained and options.evidence:
                with trace.step("evidence"):
                    read = [hit.passage for hit in event.hits]
                    carried = evidence.behind(Subject(one.query, read), event.text, read, self.retriever.embedder)
                if carried.support == "none":
                    yield unsupported(event, event.hits)
                    continue
                yield replace(event, evidence=carried.proof, nearest=carried.nearest, support=carried.support)
            else:
                yield event

    def instead(self, one: Asked, begun: Begun, silent: Answer) -> Generator[Found | Wrote, None, Answer]:
        """What the server answers where the passages at hand hold no answer; else `silent`, which says that.

        So it is where it has none either, fails before a word is shown, was asked already, or may not be asked.
        Raises as `answer`.
        """
        if one.private or begun.lacks or one.ledger.egress.bytes or not self.looks(one.options):
            return silent
        trace = replace(one.trace, steps=[("own files", one.trace.elapsed_ms())], first_token_ms=None, tokens_decoded=0)
        answer, wrote = silent, False
        try:
            for event in self.answer(replace(one, trace=trace)):
                if isinstance(event, Answer):
                    answer = event
                elif isinstance(event, Wrote) or event.hits:
                    wrote = wrote or isinstance(event, Wrote)
                    yield event
        except EngineError as error:
            if wrote:
                raise
            answer = replace(silent, hits=(), decided=(str(error),))
        decided = (*silent.decided, *answer.decided)
        if not answer.abstained:
            return replace(answer, decided=decided)
        trace.first_token()
        hits = [*silent.hits, *answer.hits]
        return replace(silent, text=not_told(hits), hits=hits, trace=trace, decided=decided, guess=answer.guess)

    def _near(self, vector: Vectors, own: Sequence[Hit], found: Sequence[Hit]) -> list[Hit]:
        """The server's passages compared by the embedder here, which is the one that compared the person's own."""
        if not found:
            return []
        texts = [embedded_text(one.passage.title, one.passage.text) for one in found]
        similar = (self.retriever.embedder.embed(texts) @ vector).tolist()
        least = max(*similar, *(one.similarity for one in own)) - NEAR
        near = [replace(one, similarity=each) for one, each in zip(found, similar, strict=True) if each >= least]
        return sorted(near, key=lambda one: -one.similarity)

    def _together(self, one: Asked, source: LocalSource, leaving: ExitStack) -> Aggregated:
        """Both sides' answer, begun; when `leaving` is closed, it ends, and what left is noted. Raises LinkError."""
        assert self.public is not None
        options = one.options
        # Open is the paper's way; at temperature 0 there is but one.
        rule: Rule | None = "algorithm1" if options.open and options.sampling.temperature else None
        most = options.plan.passages
        asked = Together(one.query.text, options.sampling, options.max_tokens, most, rule=rule, open=options.open)
        joint = self.public.together(asked, source, one.trace, self.tree)
        leaving.callback(lambda: one.ledger.left(joint.report.sent_bytes, joint.report.sent))
        return leaving.enter_context(joint)

    def wrote(self, trace: Trace, hits: Sequence[Hit], joint: Aggregated | None, *, cut: bool) -> None:
        """Learn from an answer: how fast this device is or, where both sides wrote it, how often drafts are accepted.

        Which side read the server's passages is counted, and how long an answer with them was.
        """
        if self.public is None:
            return
        held = self.public.memory.held
        if joint:
            profile = held.profile.judged(joint.report.judged)
        else:
            took = dict(trace.steps)
            read_s, written_s = (took.get(step, 0.0) / 1000 for step in ("prefill", "decode"))
            read, written = trace.tokens_prefilled, trace.tokens_decoded
            position = trace.tokens_cached + read + written / 2
            profile = held.profile.wrote(read, read_s, written, written_s, position)
        if profile != held.profile:
            self.public.memory.hold(replace(held, profile=profile))
        if any(hit.side == "server" for hit in hits):
            self.public.read("server" if joint else "device", hits, trace.tokens_decoded, cut=cut)


def _apart(why: str) -> str:
    return f"{APART}{_clause(why)}"


def _alone(why: str) -> str:
    return f"{WENT_ON}: {_clause(why)}"


def _clause(told: str) -> str:
    """A sentence as a part of another."""
    return f"{told[:1].lower()}{told[1:].rstrip('.')}"
