"""The text of an answer from its passages: from all of them at once or, where one alone is read at a time, from one
after the other, until one tells.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from device_app.abstention import relevance, shown
from device_app.answer import Found, Wrote
from device_app.cache.qkv_tree import QKVTree
from device_app.checking import Check, Look
from device_app.options import Options
from device_app.outside import Begun
from device_app.sources.aggregated import joint_pieces
from device_app.sources.local import LocalSource
from device_app.sources.sureness import Sureness
from shared.ending import Piece, ended
from shared.errors import NotWritable, StoreFull
from shared.printable import visible
from shared.prompt import Prompt, is_not_found
from shared.trace import Trace
from shared.types import Hit

MOST_ATTEMPTS = 2
"""Passages that are read one after the other at most, where one alone is read at a time."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is read at a time: a prompt, and the passages in it."""

    prompt: Prompt
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class Written:
    """The pieces of an answer, and the passages it is from: those of the attempt that told, or all where none did.
    `prompt` is the last one's, None where its states are kept already. `sureness` is how sure the model was.
    """

    prompt: Prompt | None
    hits: Sequence[Hit]
    pieces: Sequence[Piece]
    sureness: Sureness

    @property
    def look(self) -> Look:
        """Without its prompt."""
        return Look(self.pieces, self.hits, self.sureness)

    @property
    def text(self) -> str:
        """All of it; "" where nothing was written."""
        return "".join(piece.text for piece in self.pieces).strip()


@dataclass(frozen=True, slots=True)
class Writing:
    """Writes one answer, with what `begun` has from a server. `tree` has what is kept of the prompts. With a `check`,
    nothing is shown before it is known whether that is an answer.
    """

    source: LocalSource
    tree: QKVTree
    options: Options
    trace: Trace
    begun: Begun
    check: Check | None = None

    def events(self, first: Attempt, others: Iterator[Attempt]) -> Generator[Found | Wrote, None, Written]:
        """What may be shown of the first of the attempts that does not abstain, and what is read besides the first.

        What was spent on those that did is the trace's `vain`; one that writes nothing tells nothing.
        """
        writing, written = self, (yield from self._one(first))
        if (joint := self.begun.joint) and not visible(written.text):
            joint.give_up("nothing that can be read was written with it")
            self.trace.begin_again()
            writing = replace(self, begun=Begun(self.begun.plan, self.begun.why))
            written = yield from writing._one(first)
        while is_not_found(written.text) and (other := next(others, None)):
            keep(self.source, self.tree, written.prompt)
            read = (*written.hits, *other.hits)
            yield Found(read)
            self.trace.begin_again()
            again = yield from self._one(other)
            tells = again.text and not is_not_found(again.text)
            written = again if tells else replace(written, prompt=other.prompt, hits=read)
        return writing._checked(written) if self.check else written

    def _checked(self, written: Written) -> Written:
        assert self.check
        self.trace.first_token_ms = None  # nothing is shown yet
        if not written.text or is_not_found(written.text):
            return written
        with self.trace.step("check"):
            keep(self.source, self.tree, written.prompt)
            both = replace(written.look, hits=self.begun.sources(written.hits))
            look = self.check.surest(both)
        hits = written.hits if self.begun.joint else look.hits
        return Written(None, hits, look.pieces, look.sureness)

    def whole(self, first: Attempt, others: Iterator[Attempt]) -> Written:
        """As `events`, where nobody watches."""
        events = self.events(first, others)
        while True:
            try:
                next(events)
            except StopIteration as end:
                written: Written = end.value
                return written

    def _one(self, one: Attempt) -> Generator[Found | Wrote, None, Written]:
        pieces: list[Piece] = []
        sureness = Sureness()
        with closing(self._pieces(one, sureness)) as stream:
            known = one.hits
            for text in shown(stream, pieces):
                if len(found := self.begun.sources(one.hits)) > len(known):
                    known = found
                    yield Found(known)
                if not self.check:
                    yield Wrote(text)
        return Written(one.prompt, one.hits, pieces, sureness)

    def _pieces(self, one: Attempt, sureness: Sureness) -> Generator[Piece, None, None]:
        most = max(min(self.options.max_tokens, self.source.room(one.prompt)), 1)
        similarities = [hit.similarity for hit in one.hits][: len(one.prompt.passages)]
        if self.begun.joint:
            yield from joint_pieces(self.begun.joint, one.prompt, similarities, most)
            return
        with closing(
            self.source.stream(
                one.prompt,
                self.options.sampling,
                max_tokens=most,
                similarities=similarities,
                relevance=relevance(one.hits),
                trace=self.trace,
                tree=self.tree,
                sureness=sureness if self.check else None,
            )
        ) as stream:
            yield from ended(stream)


def keep(source: LocalSource, tree: QKVTree, prompt: Prompt | None) -> None:
    """Keep the states of the prompt that was answered last. Where they have no room the answer stands all the same."""
    if prompt is None:
        return
    with suppress(StoreFull, NotWritable):
        source.keep(prompt, tree)
