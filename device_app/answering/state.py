"""The state of a question while it is being answered: the facts looked up, and the result of each action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from device_app.answering.quoting import Quoted
    from device_app.cache.answers.bank import Considered
    from device_app.companion.dispatch.aggregating import Choice
    from device_app.everyday.rule import Ruled
    from device_app.question.answer import Answer, LookedUp
    from device_app.question.request import Request
    from shared.prompt import Prompt
    from shared.types import Hit

Fact = Literal["joint request", "connection", "cost"]
"""What the plan may still need to know, besides what this device has gathered, before it can choose an action.

The joint request and the connection use the network; the cost of the prompt takes the model.
"""

Kind = Literal[
    "answer by rule",
    "serve kept",
    "quote",
    "prefill",
    "generate",
    "fetch then generate",
    "together",
    "race",
    "write without files",
    "decline",
    "nothing",
    "end",
]

GENERATED: Final = ("generate", "fetch then generate", "together", "write without files")
"""The actions whose answer a model on this device writes, alone or jointly."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action, and the reasons for it as shown to the person.

    `lacks` names the part of the question that the files do not answer, if no server was asked for it, or none
    answered: a later attempt may ask a server.
    """

    kind: Kind
    reasons: tuple[str, ...] = ()
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """The kept answer that serves the question, or None; and all `similar` kept answers, if they were looked up."""

    serving: Considered | None
    similar: Sequence[Considered] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages nearest to the search query, best first. `missing` names the part of the question that no passage in
    the files covers; `quoted` is a quote from the passages, if the question asks for one; `newest` is the id of the
    newest stored passage when the retrieval began. `local_only` says why no server may be asked because of these
    passages.
    """

    hits: Sequence[Hit] = ()
    missing: str = ""
    quoted: Quoted | None = None
    newest: int = 0
    local_only: str = ""


@dataclass(frozen=True, slots=True)
class Joint:
    """The result of asking a server for a joint answer; `refused` says why it writes none, or is ""."""

    refused: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """Whether the server can be asked now, with the reason `why_not`. `incompatible` says why the server cannot write a
    joint answer; `aggregation` are the supported choices of the side that decides the tokens of such an answer, None if
    unknown.
    """

    is_up: bool
    why_not: str = ""
    round_trip_s: float | None = None
    incompatible: str = ""
    aggregation: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """The passages of one attempt at an answer, and the prompt with them; None if a race builds the prompt."""

    prompt: Prompt | None
    hits: Sequence[Hit]

    @property
    def similarities(self) -> list[float]:
        """The similarity of each row's passage to the question; 1 for the only row of a prompt without passages."""
        rows = len(self.prompt.passages) if self.prompt else 0
        return [hit.similarity for hit in self.hits[:rows]] or [1.0]


@dataclass(frozen=True, slots=True)
class Costed:
    """The prompt that the model would read from the files, and the plan chosen by its cost."""

    attempt: Attempt
    choice: Choice


@dataclass(frozen=True, slots=True)
class Fetched:
    """The server's passages that fit the question, and its `rounds` of retrieval; `failed` is why there are none."""

    hits: Sequence[Hit] = ()
    failed: str = ""
    rounds: Sequence[LookedUp] = ()


@dataclass(frozen=True, slots=True)
class Concluded:
    """The answer from an action, and whether any data had left the device by then.

    `prompt` is the last prompt that a model on this device has read for the answer; its attention states may be kept.
    """

    action: Action
    answer: Answer
    has_sent: bool = False
    prompt: Prompt | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The facts looked up so far, and the results of the actions so far. None: not looked up, or not done.

    `ruled` is the answer of a rule; None also if no rule understands the question.
    """

    ruled: Ruled | None = None
    kept: Kept | None = None
    joint: Joint | None = None
    retrieved: Retrieved | None = None
    connection: Connection | None = None
    costed: Costed | None = None
    fetched: Fetched | None = None
    concluded: Concluded | None = None

    def after(self, outcome: Concluded | Connection) -> State:
        """Return the state after an action that gave an answer, or that showed that the server cannot be asked."""
        if isinstance(outcome, Connection):
            return replace(self, connection=outcome)
        return replace(self, concluded=outcome)

    @property
    def hits(self) -> Sequence[Hit]:
        """The passages nearest to the question, the best first."""
        return self.retrieved.hits if self.retrieved else ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A forecast of how a question would be answered, made without the network.

    `step` is the planner's next step; `otherwise` is its next step if no kept answer could be served. A step is a
    `Fact` if that fact has to be looked up first, and looking it up needs the network.
    """

    request: Request
    state: State
    step: Action | Fact
    otherwise: Action | Fact
