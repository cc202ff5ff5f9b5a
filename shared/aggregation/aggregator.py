"""One side's state machine for a joint answer: events in, commands out (DRAGON, section 4.1, multi-step aggregation).

Both sides run this class on the same terms. A token is decided, and then final, once the rule has its inputs; as the
rules are functions of seed, prefix and drafts, both sides decide the same tokens. Uses no clock: the caller sends
`Lost` when `waits` has been true for too long, and after a ProtocolError.
"""

from enum import Enum
from typing import Final, Literal

from shared.aggregation import rules
from shared.aggregation.distribution import Top
from shared.aggregation.drafts import Chain, DraftQueue, Judged
from shared.aggregation.messages import (
    Cancelled,
    Command,
    Drafted,
    Drafts,
    Emit,
    Event,
    Fetch,
    Finish,
    GoAlone,
    HandOver,
    Lost,
    Rest,
    Reweight,
    RollBack,
    Send,
    Stop,
    Supplied,
    Supply,
    Switch,
    Targets,
    Weighed,
    Weight,
)
from shared.aggregation.role import Role
from shared.aggregation.shares import DeviceShares
from shared.aggregation.terms import Terms
from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode
from shared.side import Side, other

FETCHED: Final = 16
"""The number of likeliest tokens sent with a greedy draft; each fetch requests 16 times as many as are known."""


class JointPhase(Enum):
    """The phase of a joint answer on one side."""

    TOGETHER = "both sides write"
    ALONE = "the device continues without the server"
    OVER = "complete, cancelled, or without the other side"


class Aggregator:
    """One side's state of a joint answer. `settled` are the tokens decided so far, which are final: equal on both
    sides, except for tokens whose messages have not arrived yet.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.phase = JointPhase.TOGETHER
        self.settled: list[int] = []
        self._role = Role(terms)
        self._own = Chain()
        self._others = DraftQueue(terms.rule, terms.vocabulary, terms.max_tokens, terms.ahead)
        self._shares = DeviceShares(terms.max_tokens)
        self._targets: dict[int, int] = {}
        self._requested: dict[Side, int] = {}  # greedy: tokens requested at the next position

    @property
    def aggregates(self) -> bool:
        """Whether this side decides tokens itself, rather than receiving decided tokens."""
        return self._role.aggregates

    @property
    def epoch(self) -> int:
        """The number of the current chain of this side's drafts: the position of the first draft after the last
        rollback.
        """
        return self._own.epoch

    @property
    def next_draft(self) -> int | None:
        """The position that this side's decoder should draft next; None if no draft is needed now."""
        end = self._own.end
        if self.phase is JointPhase.OVER or end >= min(len(self.settled) + self.terms.ahead, self.terms.max_tokens):
            return None
        last = self._own.at(end - 1)
        return None if last and last.token in self.terms.ends else end

    @property
    def waits(self) -> bool:
        """Whether the next token needs a message from the other side before it can be decided."""
        return self.phase is JointPhase.TOGETHER and (not self.aggregates or self._lacks())

    @property
    def judged(self) -> dict[Side, Judged]:
        """For each side, how many of its drafts were compared with final tokens and how many were accepted, as far as
        this side has received them.
        """
        return {self.terms.side: self._own.judged, other(self.terms.side): self._others.judged}

    def receive(self, event: Event) -> list[Command]:
        """Process an event and return the commands to carry out, in order.

        Raises ProtocolError for an illegal message.
        """
        if self.phase is JointPhase.OVER:
            return []
        commands: list[Command] = []
        match event:
            case Drafted():
                commands = self._drafted(event)
            case Weighed(log_h, every):
                commands = self._weighed(Weight(log_h, every))
            case Supplied():
                commands = self._supplied(event)
            case HandOver():
                commands = self._hand_over()
            case Cancelled():
                return self._finished("cancelled")
            case Lost(reason):
                commands = self._alone(reason)
            case _ if self.phase is JointPhase.TOGETHER:
                commands = self._on_event(event)
        return commands + self._settle()

    def _drafted(self, drafted: Drafted) -> list[Command]:
        if (drafted.epoch, drafted.position) != (self._own.epoch, self._own.end):
            return []  # drawn before the decoder was rolled back
        self._own.append(drafted.token, drafted.distribution)
        return self._shown(drafted.position)

    def _shown(self, position: int) -> list[Command]:
        """Return the command to send this side's drafts from `position` on; [] if the other side needs none."""
        tokens, distributions = self._own.since(position)
        if self.phase is not JointPhase.TOGETHER or not tokens or (self.aggregates and self.terms.place != "both"):
            return []
        return [Send(Drafts(self._own.epoch, max(position, self._own.epoch), tokens, distributions))]

    def _weighed(self, weight: Weight) -> list[Command]:
        if self.phase is not JointPhase.TOGETHER:
            return []
        return [Send(weight), *self._weigh(self.terms.side, weight)]

    def _weigh(self, side: Side, weight: Weight) -> list[Command]:
        if not self._shares.weigh(side, weight):
            return []
        useless = self._shares.first == 1 and self.terms.side == "device"
        return [Send(Stop()), *self._alone("the server found no passages for the question")] if useless else []

    def _on_event(self, message: Event) -> list[Command]:
        match message:
            case Drafts():
                self._others.put(message, self.settled)
            case Targets():
                self._targeted(message)
            case Weight():
                return self._weigh(other(self.terms.side), message)
            case Reweight():
                self._shares.follow(message)
                return [Send(message)] if self.terms.side == "device" else []
            case Switch():
                self._role.on_switch(message, len(self.settled), self._own.epoch, self._others.epoch)
            case Fetch(position, count):
                if not (self.terms.rule == "greedy" and not self.aggregates and 0 < count <= self.terms.vocabulary):
                    raise ProtocolError(
                        CloseCode.ILLEGAL,
                        "The other side requested a distribution that it does not need or that does not exist.",
                    )
                draft = self._own.at(position)
                return [Supply(position, count)] if draft and draft.distribution else []
            case Rest(position, distribution):
                if int(distribution.ids[-1]) >= self.terms.vocabulary:
                    raise ProtocolError(CloseCode.MALFORMED, "A distribution holds a token outside the vocabulary.")
                self._others.supply(position, distribution)
            case Stop():
                if self.terms.side == "server":
                    return self._finished("cancelled", announce=False)
                return self._alone("the server stopped writing")
        return []

    def _targeted(self, targets: Targets) -> None:
        end, known = targets.position + len(targets.tokens), len(self.settled)
        if not (0 <= targets.position < end <= self.terms.max_tokens) or self.terms.place == "both":
            raise ProtocolError(
                CloseCode.ORDER,
                "Decided tokens came for positions outside the answer, or although each side decides them itself.",
            )
        if not all(0 <= token < self.terms.vocabulary for token in targets.tokens):
            raise ProtocolError(CloseCode.MALFORMED, "A decided token lies outside the vocabulary.")
        if self.aggregates and end > known:
            raise ProtocolError(CloseCode.ILLEGAL, "A side decided a token although the other side has that role.")
        for position, token in enumerate(targets.tokens, targets.position):
            held = self.settled[position] if position < known else self._targets.setdefault(position, token)
            if held != token:
                raise ProtocolError(CloseCode.ILLEGAL, "Two different tokens were decided at one position.")

    def _hand_over(self) -> list[Command]:
        position = len(self.settled)
        if self.phase is not JointPhase.TOGETHER or not self._role.give(position):
            return []
        return [Send(Switch(position, self._own.epoch, self._others.epoch)), *self._shown(position)]

    def _alone(self, reason: str) -> list[Command]:
        if self.phase is JointPhase.ALONE:
            return []
        if self.terms.side == "server":
            return self._finished("lost", announce=False)
        self.phase, self._role.aggregates = JointPhase.ALONE, True
        return [GoAlone(len(self.settled), reason)]

    def _supplied(self, supplied: Supplied) -> list[Command]:
        if not self._own.supply(supplied.position, supplied.distribution) or self.aggregates:
            return []
        return [Send(Rest(supplied.position, supplied.distribution))]

    def _settle(self) -> list[Command]:
        """Decide all tokens that can be decided; return the commands to announce them and roll the decoder back."""
        commands: list[Command] = []
        tells = self.phase is JointPhase.TOGETHER and self.terms.place != "both"
        mine: list[int] = []
        while self.phase is not JointPhase.OVER:
            position = len(self.settled)
            if switch := self._role.take(position):
                self._others.handed(switch.mine, position)
            token = self._decide(position, commands) if self.aggregates else self._targets.pop(position, None)
            if token is None:
                break
            if self.aggregates and tells:
                mine.append(token)
            commands += self._append(token)
        if mine:
            first = len(self.settled) - len(mine)
            announcement: Command = Send(Targets(first, tuple(mine)))
            commands.insert(len(commands) - (self.phase is JointPhase.OVER), announcement)
        if self.phase is not JointPhase.OVER and self._own.end < len(self.settled):
            keep = self._own.end
            self._own.restart(len(self.settled))
            commands.append(RollBack(keep, tuple(self.settled[keep:]), self._own.epoch))
        return commands

    def _append(self, token: int) -> list[Command]:
        position = len(self.settled)
        self._own.follow(position, token)
        self.settled.append(token)
        self._others.follow(self.settled)
        self._requested.clear()
        commands: list[Command] = [Emit(position, token)]
        if token in self.terms.ends:
            return commands + self._finished("end", announce=False)
        if len(self.settled) == self.terms.max_tokens:
            return commands + self._finished("length", announce=False)
        return commands

    def _decide(self, position: int, commands: list[Command]) -> int | None:
        """Return the token at `position` if the rule can decide it, else None. If the rule lacks parts of the
        distributions, add requests for them, each once, to `commands`.
        """
        own, held = self._own.at(position), self._others.at(position)
        if self.phase is JointPhase.ALONE:
            return own.token if own else None
        share = self._shares.at(position)
        if share is None:
            return None
        device, server = (own, held) if self.terms.side == "device" else (held, own)
        token = rules.decide(self.terms.rule, self.terms.seed, position, share, device, server)
        if token is None and own and held and isinstance(own.distribution, Top) and isinstance(held.distribution, Top):
            commands += self._asked(position, {"device": own.distribution, "server": held.distribution})
        return token

    def _asked(self, position: int, known: dict[Side, Top]) -> list[Command]:
        commands: list[Command] = []
        for side, distribution in known.items():
            count = min(len(distribution.ids) * FETCHED, self.terms.vocabulary)
            if not distribution.whole and self._requested.get(side, 0) < count:
                self._requested[side] = count
                commands.append(Supply(position, count) if side == "device" else Send(Fetch(position, count)))
        return commands

    def _lacks(self) -> bool:
        position, share = len(self.settled), self._shares.at(len(self.settled))
        if share is None:  # the device computes the later ones itself
            return self.terms.side == "server" or self._shares.first is None
        if self.terms.rule == "coupled" and rules.author(self.terms.seed, position, share) == self.terms.side:
            return False
        return self._others.at(position) is None or "server" in self._requested

    def _finished(
        self, reason: Literal["end", "length", "cancelled", "lost"], *, announce: bool = True
    ) -> list[Command]:
        announcement: list[Command] = [Send(Stop())] if announce and self.phase is JointPhase.TOGETHER else []
        self.phase = JointPhase.OVER
        return [*announcement, Finish(reason)]
