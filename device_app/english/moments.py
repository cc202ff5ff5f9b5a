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
    "weekdays": "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
    "today": "today|now|right now|it|it today|it now|it right now|the date today|we have|we have today|today is",
}

FORMS: Final = {
    "time": """
        what time (is|'s) (it|now|it now|it right now) [here|right now|at the moment]*
        (what is|what's|whats|tell me|got|do you have) [<clock>] <clock> [right now|now|here|please|is it]*
        (time|current time|time now|time please)
        how late is it
        (what|which) time (do we have|is it|have you got|do you have|is this|are we at) [<today>|please]*
        (give|tell|show) [me] the [current|exact|local]* time [please|now]*
        (do you know|have you got|you got) the time
        """,
    "time in": """
        what time (is|'s) it [now|right now|currently] (in|at|for) {place} [now|right now|currently|at the moment]*
        (what is|what's|whats) <clock> [now|right now]* (in|at) {place} [now|right now|currently|at the moment]*
        [<clock>] (time|clock) (in|at) {place} [now|right now|currently]*
        what time do they have in {place}
        how late is it in {place}
        (tell|give|show) [me] the [current|local]* time (in|at|for) {place} [now|right now]*
        (what|which) time (do|does) (they|people|it) [have|show] in {place} [now|right now]*
        (what is|what's|whats) {place} time [now|right now]*
        {place} time [now|right now]*
        (is it) (night|day|morning|evening|late|early|dark) [already|now|still]* in {place} [now|right now|already]*
        what (hour|time of day) is it in {place} [now|right now]*
        what time would it be in {place} [now|right now]*
        """,
    "date": """
        <what> [day|date|weekday|day of the week|day and date] (is|of the week is|'s) [<today>]
        <what> (date|day) do we have [today]
        <what> [the] (date|day|today's date|todays date|day today|date today|current date) [is it] [today|now]*
        (today's date|todays date|date|date today|the date|the date today|current date)
        <what> is today
        (what|which) (day|date|weekday|month|year) (is this|are we|do we have|are we in|is it|have we|of the month
            is it|of the week is it|of the week is this) [today|now|in]*
        (give|tell|show) [me] (the|today's|todays|current)* (date|day) [of today|today|please|now]*
        (do you know) (what day it is|today's date|todays date|the date)
        what [calendar]* (day|date) is (it|this) [today|now]*
        (what|which) (month|year) is (it|this) [now]
        """,
    "until": """
        how many <units> [is it|are there|are left|left|remaining|do i have|do we have|more]* (until|till|til|to|
            before|left until|
            left till) {date}
        how (long|far away|far off|much longer) (is|is it|until|till|to|is it until|is it till|is there until)* {date}
        [number of] <units> (until|till|to|left until) {date}
        in how many <units> is {date}
        when is {feast:feast} [{year:year}]
        how (many|much) (more|longer)* <units> [more|do i have|do we have|have i got|are there|is it|will it be|left|
            to go|to wait|must i wait|remain|remaining|still]*
            (until|till|til|to|before|for|up to) {date}
        how (long|much longer|far) (is it|do i have|do we have|have i got|have we got|will it be|away is|off is|to
            go|to wait|is there|still|left|now|until)* (until|till|til|to|
            before) {date}
        how (long|far|soon) (away|off)* (is|are) {date} [away|off|from now]*
        how many <units> (away|off|from now|ahead)* (is|are) {date} [away|off|from now]*
        (days|weeks|nights|sleeps) [left]* (until|till|til|to|before) {date}
        (count|countdown|calculate) [down|the]* [days]* (to|until|till) {date}
        {date} is how many <units> (away|from now|off)
        in how many <units> (is|will it be|do we have|comes|begins|starts) {date}
        (when|what day|what date|on what date|on which day) is {feast:feast} [{year:year}]
        how many <units> (is|are) left (until|till|to|before|of|in) {date}
        """,
    "since": """
        how many <units> [is it|has it been|have passed|ago|passed|has passed|went by]* (since|from|after|was|ago
            was) {date}
        how long (ago was|is it since|ago is|since|has it been since) {date}
        how (many|much) <units> (have|has|did|is|are|were|was)* [it|gone|been|passed|elapsed|by|there|lie|pass|go by|
            ago]* (since|from|after|was) {date}
        how long (have|has|is|was|did)* [it|been|passed|gone|ago|that|now]* (since|was|is) {date}
        (days|weeks|months|years) since {date}
        how many <units> ago (was|is|did|were) {date} [happen|be]
        {date} (was|is) how (long|many <units>) ago
        """,
    "between": """
        how many <units> [are there|are|is it|lie]* (between|from) {first} (and|to|until|till) {last}
        <units> (between|from) {first} (and|to|until|till) {last}
        how (many|much) <units> (are|is|lie|lies|were|was|do i have|do we have|pass|passed|does it take)* [there|
            in]* (between|from) {first} (and|to|until|till|through) {last}
        how long (is|was|are) [it|the time|the period|there]* (between|from) {first} (and|to|until|till) {last}
        (number of|count the|count|calculate the|what is the number of) <units> (between|from) {first} (and|to|until|
            till) {last}
        (what is|what's) the (difference|distance|time|period|number of <units>) [in <units>|of time]* (between|
            from) {first} (and|to|until|till) {last}
        from {first} (to|until|till) {last} how many <units> [is it|are there|are that]*
        """,
    "weekday": """
        <what> (day|weekday|day of the week) (<is>|does|did|of the week <is>) {date} [fall on|fall|on|be]*
        on (what|which) (day|weekday|day of the week) (<is>|does|did|falls|fell) {date} [fall|fell|fall on|be]*
        (what|which) (day|weekday) (of the week)* (<is>|did|does) {date} [fall on|fall|on|be]*
        {date} (<is>|was|falls on|fell on) (what|which) (day|weekday|day of the week)
        (what|which) (day|weekday) [of the week]* (is|was|will|would|does|did|were|be|fall|falls|fell|do)* [it|be|
            the]* (on|for)* {date} [fall|be|fall on|on|a]*
        (on|for) (what|which) (day|weekday) [of the week]* (is|was|will|would|does|did|do)* [it|be|the]* {date}
            [fall|be|fall on|land|happen]*
        (tell|give|show) [me] the (day|weekday|day of the week) (of|for|on) {date}
        (what is|what's|whats|what was) the (weekday|day of the week|day of week) (of|for|on) {date}
        (weekday|day of the week|day of week) (of|for|on)* {date}
        {date} (is|was|will be|falls on|fell on|what|which)* (what|which|a) (day|weekday) [of the week|is it|was it|is that|was that]*
        (is|was|will) {date} [be|fall] [on] [a|an|the]* {weekday:weekdays}
        when i was born on {date} (what|which) (day|weekday) was it
        """,
    "week": """
        (what|which) [calendar|iso] week [number|of the year|nr|no]* (is|was|are we in|do we have|is it|has|does|
            will be)* [{date}]
        <what> [the] [calendar|iso] week number [of|for|on|is|is it]* [{date}]
        (week number|calendar week) [of|for]* [{date}]
        (what|which) [calendar|iso]* week (number|of the year|of year|nr|no)* (is|was|will|are|do|does|we|it|have|in|
            be|this|fall|falls|contains|now|currently|for|of|on|belong)* [in|on|for]*
            [{date}] [in|fall in|belong to|be in|now]*
        (in|on) (what|which) [calendar|iso]* week [number|of the year]* (is|was|are|do|does|will|we|it|fall|lies)*
            {date} [fall|be|lie]*
        (what is|what's|whats|tell me|give me|show me) [the|current|this|calendar|iso]* week (number|of the year|
            no)* (of|for|on|now|today|is it)* [{date}]
        (calendar|iso|current|this) week [number]* [please|of the year]*
        (week number|calendar week|kw) (of|for|on|now|today|is)* [{date}]
        """,
    "leap": """
        (is|was|will) [the year] {year} [be|been] a leap year
        (is|was) {date} a leap year
        (is|was|will|are) {year} [going to be|be|been]* [a]* leap year
        (does|did|will) [the year]* {year} have (a leap day|29 february|a february 29|366 days|february 29)
        (is|was) [the year]* {year} a leapyear
        (how many days|what number of days) (has|have|does|are in|in) [the year]* {year} [have]
        leap year {year}
        {year} [is]* [a]* leap year
        """,
    "then": """
        <what> [the] (date|day|weekday|day of the week|date and day) (<is>|is it|was it|will it be|do we have|will
            we have|did we have)* {date}
        <what> <is> the (date|day) {date}
        (what|which) date (<is>) {date}
        <what> (day|date|weekday|day of the week) (is it|was it|will it be|would it be|is that|do we have|did we
            have|are we|was|is|will be|falls|comes)* {date} [from now|from today|then]*
        (date|day|calculate|tell me|give me|work out) [the]* [date|day]* [of|in]* {date} [from now|from today]*
        when (is|was|will|would) [it|be|that|the]* [day]* {date} [from now|from today]*
        {date} (is|was|will be) (what|which) (date|day)
        {date}
        """,
    "at there": """
        (when|if) (it's|it is|its|it was) {time} (in|at) {from} [then] what time (is|will|would) it (be in|in|at)
            {place}
        (when|if) (it's|it is|its) {time} here [then] what time (is|will|would) it (be in|in|at) {place}
        what time (is|will|would) it (be in|in|at) {place} (when|if) (it's|it is|its) {time} (in|at) {from}
        what time (is|will|would) it (be in|in|at) {place} (when|if) (it's|it is|its) {time} [here]
        (what is|what's|whats|convert) {time} (in|from|of|at) {from} (to|in|into|as) {place} [time]
        convert {zoned} (to|into|in) {place} [time]
        (what is|what's|whats) {zoned} (in|to|into) {place} [time]
        {time} in {from} (is|to|in|into) (what|which) time in {place}
        (when|if|at) [it's|it is|its|it was|the time is|clock says|we have]* {time} (in|at) {from} [then] (what|
            which|how late) [time|hour]* (is|will|would|do|does)* [it|they|be|the time|have|people]* (in|at|for)
            {place}
        (when|if|at) [it's|it is|its|it was|the time is|clock says|we have]* {time} (here|my time|our time|local
            time|for me|with us) [then] (what|which|how late) [time|hour]* (is|will|would|do|does)* [it|they|be|
            the time|have|people]* (in|at|for) {place}
        (what|which) time (is|will|would|does) [it|be|that|mean|become]* (in|at|for) {place} (when|if|at) [it's|it
            is|its|it was|the time|is]* {time} (in|at) {from}
        (what|which) time (is|will|would) {time} (in|at|of|from) {from} [be]* (in|at|for|to) {place}
        (what|which) time (is|will|would) {zoned} [be]* (in|at|for|to) {place}
        (what|which) time (is|will|would) {time} (here|my time|our time|local time)* [be]* (in|at|for|to) {place}
        (convert|translate|change|turn) {time} (in|from|of|at) {from} [time]* (to|into|in) {place} [time|local time]*
        (convert|translate|change|turn) {time} (here|my time|our time|local time)* (to|into|in) {place} [time|local
            time]*
        {time} (in|at) {from} (in|to|into|is|as|equals|what in|what time in|what is that in|is what time in) {place} [time]*
        {zoned} (in|to|into|is|as|equals|what time in|is what time in|is what in) {place} [time]*
        (a call|a meeting|meeting|call|my call|the call) (at|is at) {time} {from} time (is when|is what time|what
            time is that|is at what time|when is that)* (in|for|here in)* {place}
        """,
    "difference": """
        (what is|what's|whats) the time difference (between|from) {from} (and|to) {place}
        [the] time difference (between|from) {from} (and|to) {place}
        (what is|what's|whats) the time difference (to|with) {place}
        how many hours (is|are) {place} (ahead of|behind|ahead|away from|from|before) [{from}]
        how many hours (ahead|behind) is {place} [of {from}]
        how far (ahead|behind) is {place} [of {from}]
        (what is|what's|whats|how big is|how large is|how much is|tell me|give me|calculate) [the]* time (difference|
            lag|shift|gap) (between|from|to|with|of) {from} (and|to|with) {place}
        (what is|what's|whats|how big is|how large is|how much is|tell me) [the]* time (difference|lag|shift|gap)
            (to|with|from) {place} [from here]*
        how (many|much) hours (is|are|lie|lies|does)* {place} [is|time]* (ahead|behind|ahead of|before|after|away|
            earlier|later|off) [of|from|than]* [us|me|here|{from}]
        how (many|much) hours (is|are|lie|lies)* [there]* (between|from) {from} (and|to) {place}
        how far (ahead|behind) [of us|of me|us|time wise]* (is|are) {place}
        (is|are) {place} (ahead of|behind|ahead|in front of) [us|me|{from}]*
        [the]* time (difference|zone difference|lag) (between|from|to|with) {from} (and|to) {place}
        [the]* time (difference|lag) (to|with) {place}
        (what|which) (time zone|timezone) (is|are|does|do) {place} [in|have|use|on]*
        """,
}
"""The phrases of each form. What a form asks for stands in braces."""

_NAMES |= {
    "feast": "christmas|christmas eve|christmas day|easter|easter sunday|easter monday|good friday|halloween|new year|new year's|new "
    "year's eve|new years eve|valentine's day|valentines day",
    "year": "this year|next year|2024|2025|2026|2027|2028|2029|2030|2031|2032",
}


_PAST = re.compile(r"\b(?:was|were|did|fell|born|ago)\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a date or a time: its form, a key of FORMS, its parts, in lower case, and its tense."""

    form: str
    parts: Mapping[str, str]
    is_past: bool


def read(question: str) -> list[Question]:
    """Return how a question can be read, the likeliest way first: a part of it may turn out to be no date."""
    text = re.sub(r"[,?!]+(?=\s|$)", "", bare(question)).lower()
    text = re.sub(r"(?<=\w)'s\b(?= time)|\bo'clock\b", "", text)
    text = re.sub(r"(?<=\d) (?:in|at) (?:the )?(morning|afternoon|evening|night)\b", lambda m: "am" if m[1] == "morning" else "pm", text)
    if not text or len(text) > _MOST_CHARACTERS:
        return []
    is_past = _PAST.search(text) is not None
    readings = ((form, phrases.read(" ".join(text.split()))) for form, phrases in _FORMS.items())
    return [Question(form, parts, is_past) for form, parts in readings if parts is not None]


_FORMS: Final = {form: Phrases.of(phrases, _NAMES) for form, phrases in FORMS.items()}
