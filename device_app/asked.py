"""A question on its way to its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from device_app.answer import Ledger
from device_app.knowledge.files import Looked
from device_app.knowledge.query import Query
from device_app.options import Options
from shared.prompt import Exchange
from shared.trace import Trace
from storage.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Asked:
    """`query` is what is asked, `wanted` what is looked for: the same, or with what was said before, or what is to be
    quoted of.

    `vector` is the question's embedding; `newest` is the newest passage there was before it was looked for. `private`
    says why it is for this device alone, for the person; "" where a server may be asked. `looked` is what was found out
    about the files that it is answered from.
    """

    query: Query
    wanted: Query
    vector: Vectors
    options: Options
    earlier: Sequence[Exchange]
    newest: int
    private: str
    trace: Trace
    ledger: Ledger = field(default_factory=Ledger)
    looked: Looked = field(default_factory=Looked)

    @property
    def leans(self) -> bool:
        """Whether it is read with what was said before it."""
        return bool(self.earlier)


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
