"""What a device says again after a cut, of an answer that is written together: all that the server may not know.

None of it is numbered. What the server drafts or settles tells how far it knows the answer, and so what it has heard.
"""

from collections.abc import Sequence

from shared.protocol import messages as m


def needed_again(ask: m.Ask, said: Sequence[m.JointFromDevice], event: m.Drafts | m.Targets) -> list[m.JointFromDevice]:
    """Of what was said, what still has to be after a cut, now that the server has said this."""
    end = event.position + len(event.ids)
    known = end if isinstance(event, m.Targets) else max(event.epoch, end - ask.ahead)
    newest = max((message.epoch for message in said if isinstance(message, m.Drafts)), default=0)
    return [message for message in said if _needed(message, known, newest, ask.rule)]


def _needed(message: m.JointFromDevice, known: int, newest: int, rule: m.Rule) -> bool:
    match message:
        case m.Drafts(_, epoch, position, ids):
            if rule == "coupled":
                # Of the newest chain all is: the server compares each of its drafts, those too that it did not need.
                return epoch == newest or newest > known
            return position + len(ids) > known and (epoch == newest or newest > known)
        case m.Targets(_, position, ids):
            return position + len(ids) > known
        case m.Switch(_, position) | m.Fetch(_, position):
            return position >= known
    return True
