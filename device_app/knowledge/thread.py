"""What of a conversation a question leans on that does (`following.leans`). Decided from the turns alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import reduce

from device_app.english import query
from device_app.english.following import leans
from device_app.english.query import Query
from shared.prompt import Exchange
from storage.conversations import Turn


def thread(asked: Query, turns: Sequence[Turn], today: date) -> tuple[list[Exchange], Query]:
    """What was said before that the question leans on, where that began and the last of it; what to search for.

    Nothing and the question itself where it is the first.
    """
    said: list[Exchange] = []
    before: list[Query] = []
    for turn in turns:
        if turn.complete:
            one = query.parse(turn.question, today)
            if not leans(one):
                said, before = [], []
            if before:
                one = replace(one.following(before[-1]), text=one.text)
            # That there was no answer tells nothing of what is asked now, and a small model would say it again.
            said = [*said[:1], Exchange(one.text, "" if turn.record.get("abstained") else turn.answer)]
            before = [*before[:1], one]
    return said, reduce(lambda earlier, later: later.following(earlier), [*before, asked])
