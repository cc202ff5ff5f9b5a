"""Questions that look as if asked of an encyclopedia passage, but that it does not answer."""

import re
from collections.abc import Iterator, Sequence

from scripts.answerer.encyclopedia_careers import CAREERS
from scripts.answerer.encyclopedia_lives import LIVES
from scripts.answerer.encyclopedia_places import PLACES
from scripts.answerer.encyclopedia_rules import drawn, table, worded
from scripts.answerer.encyclopedia_text import Topic, topic
from scripts.answerer.encyclopedia_works import WORKS
from scripts.answerer.lessons import Pair

# The patterns are the words that tell of a thing, in a passage of lower case: where none stands, it is asked in vain.
UNTOLD = table(
    r"""
untold : person
    \bborn\b|native|birth|hometown|from|raised|grew up|hails
    - Where was {x} born? / What is the birthplace of {x}?
untold : person
    died|death|dead|[-–] ?\w* ?\w* ?\d{3,4} ?\)|\bd\.|late\b|kill|murder|execut|assassin|buried|until
    - When did {x} die? / How did {x} die? / Where did {x} die?
untold : person
    bur(?:y|ied|ial)|grave|tomb|cemetery|interred|cremat|ashes
    - Where was {x} buried? / Where is the grave of {x}?
untold : person
    married|marri|wife|husband|spouse|widow|wed|consort|partner|queen|divorc|fianc|couple|daughter-in-law
    - Who did {x} marry? / Who is the spouse of {x}?
untold : person
    \bsons?\b|daughter|child|father of|mother of|parent|offspring|heir|issue|famil
    - How many children did {x} have? / What are the names of {x}'s children?
untold : person
    \bson\b|daughter|father|mother|parent|born to|famil
    - Who was the father of {x}? / What was the name of {x}'s mother?
untold : person
    educat|school|universit|college|stud(?:y|ied|ent)|graduat|degree|academ|train|learn|ph\.?d|conservator|seminar
    |institut
    - Where did {x} study? / Which school did {x} attend? / What did {x} study?
untold : person
    award|prize|medal|honou?r|oscar|grammy|won\b|winn|nobel|title|champion|trophy|nominat
    - What award did {x} win? / Which prize was {x} given?
untold : person
    brother|sister|sibling|twin|famil|daughter|\bson\b
    - How many siblings did {x} have? / What is the name of {x}'s brother?
untold : person
    tall|height|\d ?(?:cm|ft|m)\b|inches
    - How tall is {x}?
untold : person
    worth|fortune|\$|£|€|million|salary|earn|wealth
    - What is the net worth of {x}? / How much money did {x} earn?
untold : person
    language|speak|fluent|translat
    - Which languages did {x} speak?
untold : person
    religio|church|cathol|christian|jew|islam|muslim|protestant|faith|hindu|buddh|bishop|priest
    - What was the religion of {x}?
untold : film
    minute|hour|running|length|\blong
    - How long is {x}? / What is the running time of {x}?
untold : film
    budget|cost|\$|£|€|million|crore|lakh
    - What was the budget of {x}? / How much did {x} cost to make?
untold : film
    gross|box.office|earn|million|\$|crore|commercial
    - How much did {x} earn at the box office? / What did {x} gross worldwide?
untold : film
    music|compos|score|scored|soundtrack|songs?\b|musical
    - Who composed the music of {x}? / Who wrote the score for {x}?
untold : film
    produc
    - Who produced {x}? / Who was the producer of {x}?
untold : film
    cinematograph|photograph|camera|shot|lens
    - Who was the cinematographer of {x}? / Who did the cinematography of {x}?
untold : film
    direct
    - Who directed {x}? / Who was the director of {x}?
untold : film
    star|cast|actor|actress|play|role|perform|featur|portray|lead
    - Who stars in {x}? / Who plays the lead in {x}?
untold : film
    edit
    - Who edited {x}? / Who was the editor of {x}?
untold : film
    shot|film(?:ed|ing)|locat|set in|photograph
    - Where was {x} filmed? / Where was {x} shot?
untold : film
    distribut|releas|studio|pictures|company|by
    - Which company distributed {x}?
untold : film
    wrote|writ|screenplay|script|story|novel|book|play|based|adapt
    - Who wrote {x}? / Who wrote the screenplay of {x}?
untold : film
    award|prize|won\b|nominat|oscar|festival|honou?r
    - What award did {x} win? / How many awards did {x} win?
untold : film
    sequel|follow|second|part|series|franchise
    - What is the name of the sequel to {x}?
untold : song
    wrote|writ|compos|author|by
    - Who wrote {x}?
untold : song
    produc
    - Who produced {x}?
untold : song
    chart|number|no\.|#|top|peak|reach|hit
    - What position did {x} reach on the charts? / How high did {x} get on the charts?
untold : song
    album|lp\b|\bep\b|record
    - Which album is {x} on?
untold : song
    label|records
    - Which label released {x}?
untold : song
    video|direct
    - Who directed the video of {x}?
untold : song
    second|minute|long|length|duration
    - How long is {x}?
untold : album
    sold|copies|sales|million|platinum|gold|certif|unit
    - How many copies did {x} sell?
untold : album
    tracks?\b|songs?
    - How many tracks are on {x}?
untold : album
    produc
    - Who produced {x}?
untold : album
    chart|number|peak|reach|no\.|#|top|hit
    - What position did {x} reach on the charts?
untold : album
    studio|recorded (?:in|at)
    - Where was {x} recorded?
untold : book
    pages?
    - How many pages does {x} have?
untold : book
    publish|press|books
    - Who published {x}?
untold : book
    illustrat|cover|art
    - Who illustrated {x}?
untold : book
    sold|copies|sales|million|best.?sell
    - How many copies of {x} were sold?
untold : series
    episode
    - How many episodes does {x} have?
untold : series
    network|channel|air|broadcast|premier|abc|nbc|cbs|bbc|fox|tv
    - On which network did {x} air?
untold : place
    population|people|inhabitant|resident|census|live
    - What is the population of {x}? / How many people live in {x}?
untold : place
    area|square|hectare|acre|km2|km²|cover
    - What is the area of {x}?
untold : place
    elevation|altitude|sea level|high|height|metres above|feet
    - What is the elevation of {x}?
untold : place
    mayor|govern|administ|council|leader
    - Who is the mayor of {x}?
untold : place
    founded|establish|built|settled|origin|centur|creat|construct|\d{4}
    - When was {x} founded? / When was {x} built?
untold : place
    named|name|called|after|known|roman
    - Who is {x} named after?
untold : place
    distance|km|mile|kilomet
    - How far is {x} from the capital?
untold : organisation
    founded|establish|found|start|creat|form|began|since|origin
    - When was {x} founded? / Who founded {x}?
untold : organisation
    employ|staff|worker|people
    - How many people work for {x}?
untold : organisation
    headquarter|based|locat|office|from|in
    - Where are the headquarters of {x}?
untold : organisation
    chief|ceo|president|director|chair|head|manager|coach|leader|led
    - Who is the head of {x}?
untold : organisation
    \$|£|€|revenue|profit|income|million|billion
    - What is the revenue of {x}?
"""
)
_MOST_UNTOLD = 2
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_WORDED = (rule.wordings for rules in (LIVES, CAREERS, WORKS, PLACES, UNTOLD) for rule in rules)
_PLAIN = {word for wordings in _WORDED for word in re.findall(r"\w+", " ".join(wordings).lower())}


def left_open(title: str, text: str, answered: Sequence[Pair], others: Sequence[Pair]) -> list[str]:
    """What the passage does not tell; a year or a subject that is not its own.

    `answered` are the pairs made of this passage, `others` those made of passages of other titles.
    """
    asked = [
        *_untold(topic(title, text), text),
        *_other_years(answered, text),
        *_other_subjects(answered, others, text),
    ]
    own = {pair.question for pair in answered}
    return [question for question in dict.fromkeys(asked) if question not in own]


def _untold(about: Topic, text: str) -> list[str]:
    """What is often told of such a topic; of this one no word of it."""
    lower = text.lower()
    past = bool(about.opening and re.match(r"was|were", about.opening.predicate))
    fields = {"x": about.name, "be": "was" if past else "is", "does": "did" if past else "does"}
    open_ = [rule for rule in UNTOLD if about.kind in rule.kinds and not rule.pattern.search(lower)]
    open_.sort(key=lambda rule: drawn(about.name, rule.wordings[0]))
    return [worded(rule.wordings[0], about.name, rule.wordings, fields) for rule in open_[:_MOST_UNTOLD]]


def _other_years(answered: Sequence[Pair], text: str) -> Iterator[str]:
    """A question of the passage with another year than its own, one that the passage does not name."""
    for pair in answered:
        year = _YEAR.search(pair.question)
        if year is None:
            continue
        near = [int(year[0]) + step for step in (-7, -4, -3, 3, 4, 6)]
        other = str(near[drawn(pair.question) % len(near)])
        if other not in text and other[2:] not in re.findall(r"\d+", text):
            yield pair.question.replace(year[0], other)
            return


def _other_subjects(answered: Sequence[Pair], others: Sequence[Pair], text: str) -> Iterator[str]:
    """A question of the same form as one of the passage, about something of which the passage holds no word."""
    forms = {_form(pair.question) for pair in answered}
    held = set(re.findall(r"\w+", text.lower()))
    fitting = [pair.question for pair in others if _form(pair.question) in forms]
    for question in sorted(fitting, key=lambda question: drawn(text[:40], question)):
        named = set(re.findall(r"\w{3,}", question.lower())) - _PLAIN
        if named and not named & held:
            yield question
            return


def _form(question: str) -> str:
    return " ".join(question.lower().split()[:2])
