"""Which questions stay on this device because of their words."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.private import MAY_NAME_FILES, OWN_ALONE, may_be_about_phone, may_follow, reason
from device_app.english.query import FILTERS, parse
from shared.errors import UsageError

TODAY = date(2026, 11, 23)
PATHS = ("/home/anna/Taxes 2025/letter to the bank.txt", "/home/anna/notes/Boathouse.md")


def held(text: str) -> bool:
    return any(text.casefold() in path.casefold() for path in PATHS)


def private(question: str, follows: bool = False) -> str:
    return reason(parse(question, TODAY), follows, held)


@pytest.mark.parametrize(
    "question",
    [
        "IN:FOLDER who founded amazon?",
        "From: petra who founded amazon?",
        "who founded amazon (from:petra)",
        "who founded amazon, from :petra?",
        "who founded amazon [In:taxes]",
        "KIND:mail who founded amazon",
        "After: 2026-03 who founded amazon",
        "from：petra who founded amazon",
        "from: “Petra Nowak” who founded amazon",
    ],
)
def test_a_filter_is_one_in_any_case_and_spacing(question: str) -> None:
    assert parse(question, TODAY).is_limited
    assert private(question) == OWN_ALONE


@pytest.mark.parametrize(
    "question",
    [
        "folder:taxes who founded amazon",
        "form: petra who founded amazon",
        "frmo:petra who founded amazon",
        "sender=petra who founded amazon",
        "path: taxes who founded amazon",
        "von:petra who founded amazon",
        "who founded amazon on: Monday",
        'from:"" who founded amazon',
        "who founded amazon ~/notes",
        "/home/anna/notes who founded amazon",
        "what does C:\\Users\\anna say of amazon",
        "who founded amazon, see notes/2025/plan",
        "who founded amazon tax_2025",
        "who founded amazon, as in letter.docx?",
        "who founded amazon, as in Q3.PDF",
        'who founded amazon, as in "taxes 2025"?',
        "who founded amazon, as in ‘Letter to the bank’?",
        "who founded amazon as in notes/boathouse",
    ],
)
def test_what_may_be_a_filter_or_names_a_file_stays(question: str) -> None:
    assert private(question) == MAY_NAME_FILES


@pytest.mark.parametrize(
    "question",
    [
        "Who founded Amazon?",
        "Who directed Mission: Impossible?",
        "What does AC/DC stand for, and/or who founded it?",
        "When does the 10:30 train to Oslo leave?",
        "What does Genesis 1:1 say?",
        "What is the speed limit in km/h in Germany?",
        'Who wrote "The Old Man and the Sea"?',
        "Who sang ‘Hallelujah’ first?",
        "what is the maximum data rate for the 802.11a standard select one",
        "who was mr.owen in and then there were none",
        "What does e.g. mean?",
        "How old is J.R.R. Tolkien's son?",
    ],
)
def test_a_public_question_may_go(question: str) -> None:
    assert private(question) == ""


@pytest.mark.parametrize(
    ("question", "follows"),
    [
        ("And who is the surgeon, and when was qutub minar built?", True),
        ("When was qutub minar built, and who is she?", True),
        ("When was qutub minar built? And what did it cost?", True),
        ("When was qutub minar built; where is it?", True),
        ("And who is the surgeon?", True),
        ("When was qutub minar built?", False),
        ("When was qutub minar built and where does the Danube end?", False),
    ],
)
def test_a_part_that_may_follow_keeps_the_whole_here(question: str, follows: bool) -> None:
    assert may_follow(parse(question, TODAY)) is follows
    assert private(question, follows) == (OWN_ALONE if follows else "")


def cased(word: str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.sampled_from((letter, letter.upper())) for letter in word)).map("".join)


SPACES = st.sampled_from(("", " ", "  ", "\t", "\u00a0", "\u2009"))
VALUES = st.sampled_from(
    ("petra", "Petra", '"Petra Nowak"', "“Petra Nowak”", "taxes", "2026-03", "2026-03-14", "é", "x")
)
BRACKETS = st.sampled_from((("", ""), ("(", ")"), ("[", "]"), ("{", "}"), ("", ","), ("", "."), ("", "?")))
QUESTIONS = ("who founded amazon", "Who founded Amazon?", "when was qutub minar built?")


@given(
    name=st.sampled_from(FILTERS).flatmap(cased),
    colon=st.sampled_from((":", "：")),
    before=SPACES,
    after=SPACES,
    value=VALUES,
    brackets=BRACKETS,
    question=st.sampled_from(QUESTIONS),
    first=st.booleans(),
)
def test_no_spelling_of_a_filter_leaves(  # scripts/bench spellings tries 100,000 on the wire
    name: str, colon: str, before: str, after: str, value: str, brackets: tuple[str, str], question: str, first: bool
) -> None:
    written = f"{brackets[0]}{name}{before}{colon}{after}{value}{brackets[1]}"
    whole = f"{written} {question}" if first else f"{question} {written}"
    try:
        asked = parse(whole, TODAY)
    except UsageError:
        return  # a day that is none: nothing is asked of anybody
    assert reason(asked, False, held), whole


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Where does lindqvists river end?", True),
        ("Where does the river of 070 765 43 21 end?", True),
        ("Is 482913 a prime?", True),
        ("Who telephoned?", True),
        ("Where does the Danube end, and since when: 1992?", False),
        ("Are the colours of this ringlet textured?", False),
        ("How does a river rise?", False),
    ],
)
def test_what_may_be_about_a_phone(text: str, stays: bool) -> None:
    assert may_be_about_phone(text, {"anna", "lindqvist", "s"}) is stays
