"""A question on its way to its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from device_app.answer import Ledger
from device_app.knowledge.query import Query
from device_app.options import Options
from shared.prompt import Exchange
from shared.trace import Trace
from storage.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Asked:
    """`query` is what is asked, `wanted` what is looked for: the same, or with what was said before, or what is to be
    quoted of.

    `vector` is the question's embedding; `newest` is the newest passage there was before it was looked for.
    """

    query: Query
    wanted: Query
    vector: Vectors
    options: Options
    earlier: Sequence[Exchange]
    newest: int
    trace: Trace
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def leans(self) -> bool:
        """Whether it follows on what was said, which only the person can read."""
        return bool(self.earlier)

    @property
    def is_private(self) -> bool:
        """Whether it is nothing for anybody else: it leans, or is limited to some of the person's own files."""
        return self.leans or self.query.is_limited


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was done for a question ahead of it. `abstained` where its passages were read, and do not hold an answer;
    `quoted` where nothing was, as the files are quoted once it is asked.
    """

    trace: Trace
    abstained: bool = False
    quoted: bool = False
