"""Finds the part of a conversation that a follow-up question refers to (`following.is_follow_up`)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import reduce

from device_app.english import query
from device_app.english.following import is_follow_up
from device_app.english.query import Query
from shared.errors import UsageError
from shared.prompt import Exchange
from storage.conversations import Turn


def asked_in(turn: Turn, today: date) -> Query:
    """Return the question of a stored turn as a query: its text, and the filters in it.

    A question that a model answered without files is read without filters. An interrupted turn does not always record
    whether files were used; a text with an invalid filter is read without filters, too.
    """
    if turn.record.get("model_only"):
        return query.whole(turn.question)
    try:
        return query.parse(turn.question, today)
    except UsageError:
        return query.whole(turn.question)


def thread(asked: Query, turns: Sequence[Turn], today: date) -> tuple[list[Exchange], Query]:
    """Return the first and the last exchange that the question follows up on, and the query for retrieval.

    For a question that is no follow-up, return no exchanges and the question itself.
    """
    said: list[Exchange] = []
    before: list[Query] = []
    for turn in turns:
        if turn.complete:
            earlier = asked_in(turn, today)
            if not is_follow_up(earlier):
                said, before = [], []
            if before:
                earlier = replace(earlier.following(before[-1]), text=earlier.text)
            # An abstention says nothing about the new question, and a small model would repeat it.
            said = [*said[:1], Exchange(earlier.text, "" if turn.record.get("abstained") else turn.answer)]
            before = [*before[:1], earlier]
    return said, reduce(lambda earlier, later: later.following(earlier), [*before, asked])
