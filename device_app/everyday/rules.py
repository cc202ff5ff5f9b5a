"""All rules, in the order in which they are asked: the most specific first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from device_app.everyday.agenda import Agenda
from device_app.everyday.arithmetic import Arithmetic
from device_app.everyday.clock import Clock
from device_app.everyday.days import Days
from device_app.everyday.examples import examples
from device_app.everyday.hearsay import HearsayRule
from device_app.everyday.holders import Holders
from device_app.everyday.listing import Listing
from device_app.everyday.needs import Needs
from device_app.everyday.persons import Persons
from device_app.everyday.rule import Everyday
from device_app.everyday.tables import Tables
from device_app.everyday.talk import Talk
from device_app.everyday.todos import Todos

if TYPE_CHECKING:
    from device_app.everyday.phrasings import Phrasings
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore


def everyday(store: KnowledgeStore, people: KnownPeople, phrasings: Phrasings | None = None) -> Everyday:
    """Return the rules over this store and the people in it; with `phrasings` they understand questions by meaning."""
    agenda, *of_files = (
        rule(store, people) for rule in (Agenda, Todos, Days, Listing, Holders, Needs, HearsayRule, Persons)
    )
    rules = (Clock(), Arithmetic(), agenda, Tables(store), *of_files)
    return Everyday((Talk(store, partial(examples, store, people, Everyday(rules))), *rules), people, phrasings)
