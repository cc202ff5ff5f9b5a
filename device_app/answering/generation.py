"""Generates the text of an answer from its passages.

A model that reads one passage at a time gets passages in turn until one has the answer; others get all at once.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from device_app.answering.checking import Check, Written
from device_app.answering.sources.source import Pieces, TokenSource
from device_app.answering.state import Attempt
from device_app.cache.answers.wrong import may_become_wrong
from device_app.inference.sureness import Sureness
from device_app.question.abstention import shown
from device_app.question.answer import Found, Wrote
from shared.ending import Piece
from shared.prompt import Prompt, is_not_found
from shared.trace import Trace
from storage.wrong_answers import Mark


@dataclass(slots=True)
class Generation:
    """Generates one answer from `source`. With a `check`, no text is shown until the finished text has passed
    it. Nor is a text shown as long as it may still become an answer that is marked as wrong.

    `keep` saves the attention states of a prompt in the engine before the next prompt replaces them. `marks` returns
    the marks of wrong answers to the question; it is first called with the first text, as files that were read again
    before invalidate their marks. `has_shown`: whether any text was shown already.
    """

    source: TokenSource
    trace: Trace
    keep: Callable[[Prompt | None], None]
    marks: Callable[[], Sequence[Mark]]
    check: Check | None = None
    has_shown: bool = False
    _text: str = ""
    _held: str = ""

    def events(self, first: Attempt, others: Iterator[Attempt]) -> Generator[Found | Wrote, None, Written]:
        """Yield the text to show and any further passages read; return the first attempt that gives an answer.

        If none does, return the first attempt's text with the passages of all. Attempts without an answer go to
        `discarded` in the trace. A later attempt that writes nothing counts as one without an answer.
        """
        written = yield from self._attempted(first)
        while is_not_found(written.text) and (other := next(others, None)):
            self.keep(written.prompt)
            read = (*written.hits, *other.hits)
            yield Found(read)
            self.trace.begin_again()
            again = yield from self._attempted(other)
            tells = again.text and not is_not_found(again.text)
            written = again if tells else replace(written, prompt=other.prompt, hits=read)
        return self._checked(self.check, written) if self.check else written

    def _attempted(self, attempt: Attempt) -> Generator[Found | Wrote, None, Written]:
        pieces: list[Piece] = []
        sureness = Sureness()
        asked = sureness if self.check else None
        yield from self._shown(attempt, self.source.stream(attempt, asked), pieces)
        if again := self.source.rewritten(attempt, pieces, asked):
            count, stream = again
            del pieces[count:]
            yield from self._shown(attempt, stream, pieces)
        return Written(pieces, attempt.hits, sureness, attempt.prompt)

    def _shown(self, attempt: Attempt, stream: Pieces, pieces: list[Piece]) -> Generator[Found | Wrote]:
        known = 0
        with closing(stream):
            for text in shown(stream, pieces):
                if len(further := self.source.further) > known:
                    known = len(further)
                    yield Found([*attempt.hits, *further])
                if self.check:
                    continue
                self._text, self._held = self._text + text, self._held + text
                marks = self.marks()
                if not (marks and may_become_wrong(self._text, marks)):
                    self.has_shown = True
                    yield Wrote(self._held)
                    self._held = ""

    def _checked(self, check: Check, written: Written) -> Written:
        self.trace.first_token_ms = None  # nothing is shown yet
        if not written.text or is_not_found(written.text):
            return written
        with self.trace.step("check"):
            self.keep(written.prompt)
            further = self.source.further
            surest = check.surest(replace(written, hits=[*written.hits, *further], prompt=None))
        # Whether the server's passages are sources is known later: once a token was drawn from one.
        return replace(surest, hits=written.hits) if further else surest
