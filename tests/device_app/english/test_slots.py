"""Parsing a question into slots (the parts that rules use), and the vocabularies of the slots' words."""

from collections import Counter
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.politeness import bare
from device_app.english.slots import Slot, Vocabulary, normal

NAMES = (
    "about",
    "agenda",
    "days",
    "documents",
    "frames",
    "hearsay",
    "moments",
    "persons",
    "rewording",
    "sums",
    "talk",
)
WORDS = Vocabulary({"how many": "many", "mails": "mail", "from": "from", "in": "filler", "called it": "named"})


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (
            "how many mails from rick moen",
            [("many", "how many"), ("mail", "mails"), ("from", "from"), ("", "rick moen")],
        ),
        ("mails how from", [("mail", "mails"), ("", "how"), ("from", "from")]),
        ("from r. a. hettinga", [("from", "from"), ("", "r. a. hettinga")]),
        ("", []),
        ("?!", []),
    ],
)
def test_words_in_a_row_are_slots(text: str, slots: list[tuple[str, str]]) -> None:
    assert list(WORDS.read(text)) == [Slot(*slot) for slot in slots]


def test_a_wrong_letter_is_put_right_on_demand() -> None:
    assert WORDS.corrected("mials form rick") == "mails from rick"
    assert WORDS.corrected("mailman") == "mailman"


def test_contractions_are_written_in_full() -> None:
    assert normal("Hey, what's on? I've asked, whats next") == "what is on? i have asked, what is next"


@pytest.mark.parametrize("name", NAMES)
def test_a_word_has_one_kind_in_a_vocabulary(name: str) -> None:
    text = (files("device_app.english") / "vocabularies" / f"{name}.txt").read_text(encoding="utf-8")
    kinds = [line for line in text.replace("\n ", " ").splitlines() if not line.startswith("#")]
    words = Counter(" ".join(word.split()) for line in kinds for word in {*line.partition(": ")[2].split(",")})
    assert [word for word, count in words.items() if count > 1] == []
    assert Vocabulary.load(name).order


@given(st.text(max_size=80))
def test_any_text_is_laid_bare_and_read(text: str) -> None:
    assert len(bare(text)) <= len(text) * 3
    for name in NAMES:
        Vocabulary.load(name).read(normal(text))


def test_polite_words_are_left_out() -> None:
    assert bare("Hey, could you please tell me what time it is?  ") == "what time it is"
    assert bare("please") == "please"
    assert bare("Um, I don't remember when the dentist is") == "when the dentist is"
    assert bare("Good morning, could you just check whether I am free today") == "whether I am free today"
    assert bare("find out the price") == "find out the price"


@pytest.mark.parametrize("signs", ["," * 3900, " ," * 1950, ".," * 1950, "?!" * 1950, ", please" * 480])
def test_a_long_run_of_signs_is_left_out_at_once(signs: str) -> None:
    """A regular expression that is tried at each position of such a long run of punctuation would take seconds."""
    assert bare(f"what{signs}") == "what"
    assert bare(signs.replace(" please", "")) == ""
