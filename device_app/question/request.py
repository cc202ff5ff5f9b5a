"""A question on its way to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from device_app.question.answer import Ledger
from device_app.question.files import Looked
from shared.trace import Trace

if TYPE_CHECKING:
    from device_app.english.query import Query
    from device_app.question.options import Options
    from shared.prompt import Exchange
    from storage.qa_entries import Origin
    from storage.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Request:
    """`query` is the question, `search_query` what is looked for: the same, or with what was said `earlier`, or the
    subject of what is to be quoted. `vector` is the question's embedding.

    `local_only` says why it is for this device alone, for the person; "" where a server may be asked. `has_server`: one
    is connected to, and may be asked. `origin` is who wants the answer; without `decode`, its attention states alone
    are made, ahead of it. `trace`, `ledger` and `looked` record what was done for it, what left the device, and what
    was found out about the files that it is answered from.
    """

    query: Query
    search_query: Query
    vector: Vectors
    options: Options
    earlier: Sequence[Exchange] = ()
    local_only: str = ""
    has_server: bool = False
    origin: Origin = "asked"
    decode: bool = True
    trace: Trace = field(default_factory=Trace)
    ledger: Ledger = field(default_factory=Ledger)
    looked: Looked = field(default_factory=Looked)

    @property
    def is_follow_up(self) -> bool:
        """Whether it is read with what was said before it."""
        return bool(self.earlier)

    @property
    def is_quotable(self) -> bool:
        """Whether it asks what was said of something, which the files may tell in their own words."""
        return not self.is_follow_up and self.search_query != self.query

    @property
    def uses_kept(self) -> bool:
        """Whether a kept answer may serve. What is to be quoted is there as soon as one, and newer."""
        return not self.options.fresh and not self.options.together and self.search_query == self.query

    @property
    def may_fetch(self) -> bool:
        """Whether a server is asked for what the files lack, though the person did not ask for that."""
        return self.has_server and self.options.reach != "asked"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was done for a question ahead of it. `abstained` where its passages were read, and do not hold an answer;
    `quoted` where nothing was, as the files are quoted once it is asked; `marked_wrong` where the model wrote what is
    marked so.
    """

    trace: Trace
    abstained: bool = False
    quoted: bool = False
    marked_wrong: bool = False
