"""Guesses who the owner of the files is, from mails and chats. Pure; the guess is only proposed."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from device_app.english import naming
from shared.printable import counted

_SENT = re.compile(
    r"(?:^|[/.\\])(?:sent(?:[ _-]?(?:mail|items|messages|mails))?|gesendet\w*|envoy[ée]s?|enviad[oa]s?|inviata|"
    r"outbox|skickat|verzonden)(?:\.mbox|\.sbd|/|\\|$)",
    re.IGNORECASE,
)
_DAY = re.compile(r", \d{4}-\d\d-\d\d$")
"""Matches the day at the end of a chat's title."""

_LEAST_MAILS, _LEAST_SENDERS = 5, 3
"""The fewest mails, and the fewest senders, for which the most frequent recipient may be the mailbox's owner."""

_SHARE = 0.5
"""The share of the mails, or of the chats, in which the owner must at least occur."""


@dataclass(frozen=True, slots=True)
class Said:
    """A mail, or one day of a chat: the file's path, the title, and the people, a mail's sender first."""

    path: str
    title: str
    people: Sequence[str]


@dataclass(frozen=True, slots=True)
class Guess:
    """A name or address that may be the owner's, with the reason in words."""

    written: str
    reason: str


def guesses(mails: Iterable[Said], chats: Iterable[Said]) -> list[Guess]:
    """Return the likeliest name or address by each kind of evidence, the strongest first; none without evidence."""
    sent, received, mailers = Counter[str](), Counter[str](), Counter[str]()
    for mail in mails:
        if _SENT.search(mail.path) and mail.people:
            sent[mail.people[0]] += 1
        elif mail.people:
            mailers[mail.people[0]] += 1
            received.update(set(mail.people[1:]))
    found_out = []
    if sent:
        written, count = _first(sent)
        found_out.append(Guess(written, f"sent {counted(count, 'mail')} of {sent.total():,} in folders of sent mail"))
    elif guess := _recipient(received, mailers):
        found_out.append(guess)
    if guess := _chatter(chats):
        found_out.append(guess)
    return found_out


def _recipient(received: Counter[str], mailers: Counter[str]) -> Guess | None:
    """Return the person who receives most mails, from several senders: probably the owner of the mailbox.

    Recipients that never send a mail, such as mailing lists, do not count.
    """
    writes = {key for each in mailers if (key := _key(each))}
    persons = Counter({each: count for each, count in received.items() if _key(each) in writes}) or received
    if not persons:
        return None
    written, count = _first(persons)
    others = sum(count for each, count in mailers.items() if _key(each) != _key(written))
    is_likely = count >= _LEAST_MAILS and len(mailers) >= _LEAST_SENDERS and count >= _SHARE * others
    return Guess(written, f"got {counted(count, 'mail')} of {mailers.total():,}") if is_likely else None


def _chatter(chats: Iterable[Said]) -> Guess | None:
    """Return the person who takes part in most chats, probably the owner of the files.

    For a single chat titled with one member's name, that is the other member.
    """
    members: dict[tuple[str, str], set[str]] = {}
    for day in chats:
        members.setdefault((day.path, _DAY.sub("", day.title)), set()).update(day.people)
    among = Counter(person for people in members.values() for person in people)
    if not among:
        return None
    (written, count), *others = among.most_common(2)
    if count > 1 and count >= _SHARE * len(members) and not (others and others[0][1] == count):
        return Guess(written, f"in {count:,} of {counted(len(members), 'chat')}")
    titled = Counter(
        person
        for (_, title), people in members.items()
        if len(people) == 2 and any(naming.name_key(each) == naming.name_key(title) for each in people)
        for person in people
        if naming.name_key(person) != naming.name_key(title)
    )
    if not titled:
        return None
    written, count = _first(titled)
    return Guess(written, f"in {counted(count, 'chat')} named after the other person")


def _first(counts: Counter[str]) -> tuple[str, int]:
    return max(counts.items(), key=lambda item: (item[1], item[0]))


def _key(written: str) -> str:
    named = naming.split(written)
    return naming.address_key(named.address) or naming.name_key(named.name)
