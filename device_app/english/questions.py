"""Generates questions without a model: from a passage's form and words, or from an earlier question.

The questions cost no tokens, so there can be many; `predictor.choose` takes the few nearest to their passage. The
question forms are English; texts in other languages yield few or no questions.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from device_app.english.speech import spoken
from device_app.english.stop_words import SMALL_TALK, word_set
from device_app.english.terms import terms
from shared.text import sentences
from shared.types import StoredPassage

MOST_TOPIC_WORDS = 3

MOST_SPEAKERS = 4
"""The most speakers of a passage for whom beginnings of questions are made."""

_REPLY = re.compile(r"^(?:(?:re|fwd?|aw|sv|tr)\s*:\s*)+", re.IGNORECASE)
_NO_TITLE = ("", "(no subject)", "(no title)")
_WHEN = re.compile(
    r"\b(?:\d{1,2}[:.]\d\d\b|\d{1,2} ?[ap]\.?m\b|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\d{4}-\d\d-\d\d)"
)
_MONEY = re.compile(r"[€$£]\s?\d|\d\s?(?:€|\$|£|EUR|USD|GBP|euros?|dollars?|pounds?)")
_VALUE = re.compile(r"[\d\"“]")
# The subject of a sentence that states its value: "The Wi-Fi password is …", "My flight to Oslo leaves …".
_STATED = re.compile(
    r"(?:^|[,;]\s)(?P<owner>the|my|our|your|his|her|their)\s+(?P<thing>\w[\w'’-]*(?:\s+[\w'’-]+){0,5}?)\s+"
    r"(?P<verb>is|are|was|were|costs?|starts?|begins?|leaves?|arrives?)\s+(?P<value>.+)",
    re.IGNORECASE,
)
# Words that identify a text as another language or as English, by which kind occurs more often.
_FOREIGN = word_set(
    """aan al att auch au avec beim con das de del della dem den der des det di die een ein eine einen el en er es
    et för für gli het hij ich il im ist je la las le les los met mit nicht niet non och para par pas per por pour
    est pro que si sie sind som sono sur um und une uno van vom von wird y zu zum zur è är"""
)
_ENGLISH = word_set(
    """a and are at be but by can do for from had has have he her his i if in is it my not of on or our she so that
    the there they this to was we were what when which who will with you your"""
)
_TOKEN = re.compile(r"[^\W\d_]\w*(?:-\w+)*(?![’'\w])|\S|\n")
# Words that precede the name of an object, and words that end it.
_OPENS = re.compile(r"(?:the|an?|my|our|his|her|its|their|your|this|that)", re.IGNORECASE)
_VERB = re.compile(
    r"[\w-]{2,}[^\We]ed|ate|began|bought|brought|felt|found|gave|kept|knew|made|paid|ran|read|said|sang|sat|saw|sent|since"
    r"|slept|stood|thought|told|took|went|wore|wrote",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:day|sday|nesday|rsday|urday)?s?)\b"
)
_CANCELLED = re.compile(r"cancell?ed\b", re.IGNORECASE)
_PART = re.compile(r"[^\W_]+?(?=[A-Z][a-z]|[\W_]|$)")


def from_passage(passage: StoredPassage, mine: Collection[str] = ()) -> list[str]:
    """Return questions that the passage may answer: about its document, its statements, its topics and speakers.

    `mine` are the user's names; for the user's own possessions the questions say "my", as in "my flight".
    """
    statements = (question for question, _ in stated(passage, mine))
    return list(dict.fromkeys([*_of_document(passage, mine), *statements, *_of_topics(passage, mine)]))


def stated(passage: StoredPassage, mine: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield questions for values that the passage states, each with the value: ("When is my flight?", "on Friday.")."""
    sender = short_name(passage.people[0]) if passage.kind == "mail" and passage.people else ""
    for speaker, said in spoken(passage):
        for sentence in sentences(said):
            match = _STATED.search(sentence)
            if match and not sentence.endswith("?") and (asks := _asks(match["value"])):
                verb = "are" if match["verb"].lower() in ("are", "were") else "is"
                owner = _owner(match["owner"].lower(), speaker or sender, passage, mine)
                yield f"{asks} {verb} {owner} {match['thing']}?", match["value"]


def said_about(passage: StoredPassage) -> Iterator[str]:
    """Yield questions about what was said on the passage's topics, to be answered by quotes."""
    if not _is_foreign(passage.text):
        lines = list(spoken(passage))
        about = topics if any(speaker for speaker, _ in lines) else subjects
        yield from (f"What was said about {topic}?" for topic in about("\n".join(said for _, said in lines)))


def beginnings(passage: StoredPassage) -> list[str]:
    """Return beginnings of questions about the passage for a model to complete: "", and one for each speaker."""
    speakers = dict.fromkeys(speaker for speaker, _ in spoken(passage) if speaker)
    people = [*speakers] or [short_name(person) for person in passage.people[:1]]
    return ["", *(f"What does {person}" for person in people[:MOST_SPEAKERS] if not _is_foreign(passage.text))]


def analogues(question: str, people: Sequence[str]) -> list[str]:
    """Return the question with a name in it replaced by each name of `people` that the question does not contain.

    A question may name a person by a part of the name; the variants use the same part of the other names.
    """
    names = list(dict.fromkeys(filter(None, map(short_name, people))))
    named = {name: by for name in names if (by := _named_by(question, name))}
    candidates = {
        _name_of(other, place).join(_mention(part).split(question))
        for part, place in named.values()
        for other in names
        if other not in named
    }
    return sorted(candidates - {question})


def short_name(person: str) -> str:
    """Return a person's name without the address after it."""
    return person.partition("<")[0].strip(" \"'")


def topics(text: str) -> list[str]:
    """Return possible topics of the text: runs of content words, of at most MOST_TOPIC_WORDS words."""
    content = set(terms(text)) - SMALL_TALK
    runs: list[list[str]] = [[]]
    for token in _TOKEN.findall(text):
        if content.issuperset(terms(token)) and token[0].isalpha():
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    return list(dict.fromkeys(" ".join(run[:MOST_TOPIC_WORDS]) for run in runs if run))


def subjects(text: str) -> list[str]:
    """Return the subjects of a text without speakers: names, and nouns after an article or a possessive.

    Other runs of words would be verbs and parts of phrases. A sentence's first word alone does not count as a name.
    """
    content = set(terms(text)) - SMALL_TALK
    runs: list[list[str]] = [[]]
    inside, before, first = False, "", True
    for token in _TOKEN.findall(text):
        says = len(token) > 1 and token[0].isalpha() and content.issuperset(terms(token)) and not _DAY.match(token)
        name = says and token[0].isupper()
        if name and not inside and not first:
            runs.append([before] if before else [])
        inside = says and (inside or (name and not first)) and (name or not _VERB.fullmatch(token))
        if inside:
            runs[-1].append(token)
        elif _OPENS.fullmatch(token):
            runs.append([])
            inside = True
        before = token if name and first else ""
        first = not token[0].isalnum() and token not in ",-–—"
    named = (run[:MOST_TOPIC_WORDS] for run in runs if run)
    return list(dict.fromkeys(" ".join(run if run[0][0].isupper() else ["the", *run]) for run in named))


def _of_document(passage: StoredPassage, mine: Collection[str]) -> Iterator[str]:
    title = _REPLY.sub("", passage.title).strip().rstrip("?!.:; ")
    if passage.ordinal or title in _NO_TITLE or _CANCELLED.match(title):
        return
    if passage.kind == "event":
        yield f"When is {title}?"
        if "\nWhere: " in passage.text:
            yield f"Where is {title}?"
    elif passage.kind == "task":
        yield f"When is {title} due?"
    elif passage.kind == "mail" and passage.people and (sender := short_name(passage.people[0])) not in mine:
        yield f"What did {sender} write about {title}?"


def _owner(said: str, speaker: str, passage: StoredPassage, mine: Collection[str]) -> str:
    """Return the word for the owner of a stated value, as the user would say it: "my", "our", "Petra's", "the"."""
    if said == "my":
        return f"{speaker}'s" if speaker and speaker not in mine else "my"
    is_own = speaker in mine or not (speaker or passage.people)
    if said == "our" and is_own:
        return "our"
    to_me = speaker and speaker not in mine and any(short_name(person) in mine for person in passage.people)
    return "my" if said == "your" and to_me and len(passage.people) == 2 else "the"


def _of_topics(passage: StoredPassage, mine: Collection[str]) -> Iterator[str]:
    if _is_foreign(passage.text):
        return
    by_speaker: dict[str, list[str]] = {}
    for speaker, said in spoken(passage):
        by_speaker.setdefault(speaker, []).append(said)
    for speaker, lines in by_speaker.items():
        said = "\n".join(lines)
        if speaker in mine:
            continue  # nobody asks what they said themselves as if it were unknown; if so, they are quoted
        if speaker:
            yield from (f"What did {speaker} say about {topic}?" for topic in topics(said))
        else:
            yield from (f"What is written about {subject}?" for subject in subjects(said))


def _is_foreign(text: str) -> bool:
    words = re.findall(r"\w+", text.lower())
    return sum(word in _FOREIGN for word in words) > sum(word in _ENGLISH for word in words)


def _asks(value: str) -> str:
    """Return the question word for a value, such as "When" for a time; "" for a value that nobody would ask for."""
    if _WHEN.search(value):
        return "When"
    if _MONEY.search(value):
        return "How much"
    return "What" if _VALUE.search(value) else ""


def _named_by(question: str, name: str) -> tuple[str, int] | None:
    """Return the form of the name that the question uses, and the form's index in `_forms`; None if it uses none."""
    forms = ((form, place) for place, form in enumerate(_forms(name)) if _mention(form).search(question))
    return next(forms, None)


def _name_of(person: str, place: int) -> str:
    """Return the form of a person's name at index `place`, such as the first name; the whole name if it has fewer."""
    forms = _forms(person)
    return forms[place] if place < len(forms) else forms[0]


def _forms(name: str) -> list[str]:
    """Return the forms of a name: as written, its parts as words ("AdaOrel" as "Ada Orel"), and each part alone."""
    parts = _PART.findall(name)
    return [name, " ".join(parts), *parts] if parts else [name]


def _mention(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
