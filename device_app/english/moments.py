"""Reads questions for dates and times: "how many days until 5 May", "what time is it in Tokyo", "which week is this"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from device_app.english.phrases import Phrases, bare

_MOST_CHARACTERS: Final = 160

_NAMES: Final = {
    "what": "what|which|what's|whats|what is",
    "is": "is|was|will be|would be|falls on|are|'s",
    "units": "days|weeks|months|years|sleeps|nights|day|week|hours",
    "clock": "time|the time|the local time|local time|the current time|current time|clock",
    "today": "today|now|right now|it|it today|it now|it right now|the date today|we have|we have today|today is",
}

FORMS: Final = {
    "time": """
        what time (is|'s) (it|now|it now|it right now) [here|right now|at the moment]*
        (what is|what's|whats|tell me|got|do you have) [<clock>] <clock> [right now|now|here|please|is it]*
        (time|current time|time now|time please)
        how late is it
        """,
    "time in": """
        what time (is|'s) it [now|right now|currently] (in|at|for) {place} [now|right now|currently|at the moment]*
        (what is|what's|whats) <clock> [now|right now]* (in|at) {place} [now|right now|currently|at the moment]*
        [<clock>] (time|clock) (in|at) {place} [now|right now|currently]*
        what time do they have in {place}
        how late is it in {place}
        """,
    "date": """
        <what> [day|date|weekday|day of the week|day and date] (is|of the week is|'s) [<today>]
        <what> (date|day) do we have [today]
        <what> [the] (date|day|today's date|todays date|day today|date today|current date) [is it] [today|now]*
        (today's date|todays date|date|date today|the date|the date today|current date)
        <what> is today
        """,
    "until": """
        how many <units> [is it|are there|are left|left|remaining|do i have|do we have|more]* (until|till|til|to|before|left until|
            left till) {date}
        how (long|far away|far off|much longer) (is|is it|until|till|to|is it until|is it till|is there until)* {date}
        [number of] <units> (until|till|to|left until) {date}
        in how many <units> is {date}
        when is {feast:feast} [{year:year}]
        """,
    "since": """
        how many <units> [is it|has it been|have passed|ago|passed|has passed|went by]* (since|from|after|was|ago was) {date}
        how long (ago was|is it since|ago is|since|has it been since) {date}
        """,
    "between": """
        how many <units> [are there|are|is it|lie]* (between|from) {first} (and|to|until|till) {last}
        <units> (between|from) {first} (and|to|until|till) {last}
        """,
    "weekday": """
        <what> (day|weekday|day of the week) (<is>|does|did|of the week <is>) {date} [fall on|fall|on|be]*
        on (what|which) (day|weekday|day of the week) (<is>|does|did|falls|fell) {date} [fall|fell|fall on|be]*
        (what|which) (day|weekday) (of the week)* (<is>|did|does) {date} [fall on|fall|on|be]*
        {date} (<is>|was|falls on|fell on) (what|which) (day|weekday|day of the week)
        """,
    "week": """
        (what|which) [calendar|iso] week [number|of the year|nr|no]* (is|was|are we in|do we have|is it|has|does|will be)* [{date}]
        <what> [the] [calendar|iso] week number [of|for|on|is|is it]* [{date}]
        (week number|calendar week) [of|for]* [{date}]
        """,
    "leap": """
        (is|was|will) [the year] {year} [be|been] a leap year
        (is|was) {date} a leap year
        """,
    "then": """
        <what> [the] (date|day|weekday|day of the week|date and day) (<is>|is it|was it|will it be|do we have|will we have|did we have)* {date}
        <what> <is> the (date|day) {date}
        (what|which) date (<is>) {date}
        what is {date}
        """,
    "at there": """
        (when|if) (it's|it is|its|it was) {time} (in|at) {from} [then] what time (is|will|would) it (be in|in|at) {place}
        (when|if) (it's|it is|its) {time} here [then] what time (is|will|would) it (be in|in|at) {place}
        what time (is|will|would) it (be in|in|at) {place} (when|if) (it's|it is|its) {time} (in|at) {from}
        what time (is|will|would) it (be in|in|at) {place} (when|if) (it's|it is|its) {time} [here]
        (what is|what's|whats|convert) {time} (in|from|of|at) {from} (to|in|into|as) {place} [time]
        convert {zoned} (to|into|in) {place} [time]
        (what is|what's|whats) {zoned} (in|to|into) {place} [time]
        {time} in {from} (is|to|in|into) (what|which) time in {place}
        """,
    "difference": """
        (what is|what's|whats) the time difference (between|from) {from} (and|to) {place}
        [the] time difference (between|from) {from} (and|to) {place}
        (what is|what's|whats) the time difference (to|with) {place}
        how many hours (is|are) {place} (ahead of|behind|ahead|away from|from|before) [{from}]
        how many hours (ahead|behind) is {place} [of {from}]
        how far (ahead|behind) is {place} [of {from}]
        """,
}
"""The phrases of each form. What a form asks for stands in braces."""

_NAMES |= {
    "feast": "christmas|christmas eve|christmas day|easter|easter sunday|easter monday|good friday|halloween|new year|new year's|new "
    "year's eve|new years eve|valentine's day|valentines day",
    "year": "this year|next year|2024|2025|2026|2027|2028|2029|2030|2031|2032",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a date or a time: its form, a key of FORMS, and its parts, in lower case."""

    form: str
    parts: Mapping[str, str]


def read(question: str) -> list[Question]:
    """Return how a question can be read, the likeliest way first: a part of it may turn out to be no date."""
    text = re.sub(r"[,?!]+(?=\s|$)", "", bare(question)).lower()
    text = re.sub(r"(?<=\w)'s\b(?= time)|\bo'clock\b", "", text)
    text = re.sub(r"(?<=\d) (?:in|at) (?:the )?(morning|afternoon|evening|night)\b", lambda m: "am" if m[1] == "morning" else "pm", text)
    if not text or len(text) > _MOST_CHARACTERS:
        return []
    readings = ((form, phrases.read(" ".join(text.split()))) for form, phrases in _FORMS.items())
    return [Question(form, parts) for form, parts in readings if parts is not None]


_FORMS: Final = {form: Phrases.of(phrases, _NAMES) for form, phrases in FORMS.items()}
