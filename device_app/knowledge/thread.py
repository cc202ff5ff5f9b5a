"""The part of a conversation that a follow-up question is about (`following.is_follow_up`), from its turns alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import reduce

from device_app.english import query
from device_app.english.following import is_follow_up
from device_app.english.query import Query
from shared.prompt import Exchange
from storage.conversations import Turn


def thread(asked: Query, turns: Sequence[Turn], today: date) -> tuple[list[Exchange], Query]:
    """What was said before that the question follows up on, its beginning and the last of it; and what to search for.

    Nothing and the question itself where it is the first.
    """
    said: list[Exchange] = []
    before: list[Query] = []
    for turn in turns:
        if turn.complete:
            earlier = query.parse(turn.question, today)
            if not is_follow_up(earlier):
                said, before = [], []
            if before:
                earlier = replace(earlier.following(before[-1]), text=earlier.text)
            # That there was no answer tells nothing of what is asked now, and a small model would say it again.
            said = [*said[:1], Exchange(earlier.text, "" if turn.record.get("abstained") else turn.answer)]
            before = [*before[:1], earlier]
    return said, reduce(lambda earlier, later: later.following(earlier), [*before, asked])
