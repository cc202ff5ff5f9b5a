"""The text of an answer from its passages: from all of them at once or, where one alone is read at a time, from one
after the other, until one tells.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from device_app.abstention import relevance, shown
from device_app.answer import Found, Wrote
from device_app.cache.qkv_tree import QKVTree
from device_app.options import Options
from device_app.outside import Begun
from device_app.sources.aggregated import joint_pieces
from device_app.sources.local import LocalSource
from shared.ending import Piece, ended
from shared.errors import NotWritable, StoreFull
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
class Told:
    """What was written, from which passages: those of the attempt that told, or all where none did. `prompt`
    is the last one's.
    """

    prompt: Prompt
    hits: Sequence[Hit]
    said: Sequence[Piece]

    @property
    def text(self) -> str:
        """All of it; "" where nothing was written."""
        return "".join(piece.text for piece in self.said).strip()


@dataclass(frozen=True, slots=True)
class Telling:
    """Writes one answer, with what `begun` has from a server. `tree` has what is kept of the prompts."""

    source: LocalSource
    tree: QKVTree
    options: Options
    trace: Trace
    begun: Begun

    def tell(self, attempts: Iterable[Attempt]) -> Generator[Found | Wrote, None, Told]:
        """What may be shown of the first of the attempts that does not abstain, and what is read besides the first."""
        read: list[Hit] = []
        for one in attempts:
            if read:
                yield Found((*read, *one.hits))
                self.trace.first_token_ms = None  # so far nothing was told
            said: list[Piece] = []
            with closing(self._write(one)) as pieces:
                known = one.hits
                for text in shown(pieces, said):
                    if len(found := self.begun.sources(one.hits)) > len(known):
                        known = found
                        yield Found(known)
                    yield Wrote(text)
            told = Told(one.prompt, one.hits, said)
            if not is_not_found(told.text):
                break
            keep(self.source, self.tree, one.prompt)  # the engine may be needed for the next, or what a server finds
            read += one.hits
            told = Told(one.prompt, read, said)
        return told

    def told(self, attempts: Iterable[Attempt]) -> Told:
        """As `tell`, where nobody watches."""
        telling = self.tell(attempts)
        while True:
            try:
                next(telling)
            except StopIteration as end:
                told: Told = end.value
                return told

    def _write(self, one: Attempt) -> Generator[Piece, None, None]:
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
            )
        ) as stream:
            yield from ended(stream)


def keep(source: LocalSource, tree: QKVTree, prompt: Prompt) -> None:
    """Keep the states of the prompt that was answered last. Where they have no room the answer stands all the same."""
    with suppress(StoreFull, NotWritable):
        source.keep(prompt, tree)
