"""Makes questions look as if people had typed them: without capitals, without punctuation, with an opening word."""

import random

_OPENINGS = ("hey, ", "remind me: ", "quick question: ", "sorry, ", "hm, ", "ok so ", "one more thing: ", "please: ")
_SHORTER = (
    ("what is ", "what's "), ("when is ", "when's "), ("where is ", "where's "), ("who is ", "who's "),
    ("what is ", "whats "), ("when is ", "whens "), ("what's ", "whats "), ("when's ", "whens "),
)  # fmt: skip


def rough(chance: random.Random, question: str) -> str:
    """Return the question, unchanged in most cases, otherwise as if typed in a hurry."""
    way = chance.random()
    if way < 0.72:
        return question
    if way < 0.78:
        return question.rstrip("?")
    if way < 0.84:
        return chance.choice(_OPENINGS) + question[0].lower() + question[1:]
    typed = question.lower()
    for long, short in chance.sample(_SHORTER, 4):
        if typed.startswith(long):
            typed = short + typed[len(long) :]
            break
    return typed.rstrip("?") if way < 0.96 else typed
