"""Selects the messages of a joint answer that a device sends again after a lost connection.

These are all messages that the server may not have received. They have no numbers; the server's drafts and final tokens
show how much of the answer the server knows, and thus which messages it has received.
"""

from collections.abc import Sequence

from shared.protocol import messages as m


def needed_again(ask: m.Ask, said: Sequence[m.JointFromDevice], event: m.Drafts | m.Targets) -> list[m.JointFromDevice]:
    """Return those of the device's sent messages `said`, in order, that have to be sent again after a lost connection.
    `event` is the server's latest event, which shows what the server knows; `ask` is the Ask message that began the
    answer.
    """
    end = event.position + len(event.ids)
    known = end if isinstance(event, m.Targets) else max(event.epoch, end - ask.ahead)
    newest = max((message.epoch for message in said if isinstance(message, m.Drafts)), default=0)
    weights = (message for message in reversed(said) if isinstance(message, m.Reweight) and message.position <= known)
    trips = (message for message in reversed(said) if isinstance(message, m.RoundTrip))
    weight, trip = next(weights, None), next(trips, None)
    return [
        message for message in said if message is weight or message is trip or _needed(message, known, newest, ask.rule)
    ]


def _needed(message: m.JointFromDevice, known: int, newest: int, rule: m.Rule) -> bool:
    match message:
        case m.Drafts(_, epoch, position, ids):
            if rule == "coupled":
                # The whole newest chain: the server compares each of its drafts, even those it did not need.
                return epoch == newest or newest > known
            return position + len(ids) > known and (epoch == newest or newest > known)
        case m.Targets(_, position, ids):
            return position + len(ids) > known
        case m.Switch(_, position) | m.Fetch(_, position) | m.Reweight(_, position):
            return position >= known
        case m.RoundTrip():
            return False  # only the newest counts: it is repeated, as no event shows whether the server has it
    return True
