"""Phrases, and the words that a text needs to match one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.phrases import Phrases, bare, load

FILES = ("days", "hearsay", "listing", "measures", "moments", "sums", "talk", "titles")
NAMES = {"mails": "mail|mails|e-mails", "when": "in {month}"}


@pytest.mark.parametrize(
    ("phrase", "text", "parts"),
    [
        ("show [me] [the] <mails>", "show me the mails", {}),
        ("show [me] [the] <mails>", "show mail", {}),
        ("(hi|hello) [very|so]* [much]", "hello very very so much", {}),
        ("{kind:mails} from {who}", "mails from rick moen", {"kind": "mails", "who": "rick moen"}),
        ("(a|b)* c", "a b a c", {}),
        ("thanks for …", "thanks for all of that", {}),
        ("{who} sent {what} [to {who}]", "anna sent bees to tom", {"who": "tom", "what": "bees"}),
    ],
)
def test_a_phrase_is_read(phrase: str, text: str, parts: dict[str, str]) -> None:
    assert Phrases.of([phrase], NAMES).read(text) == parts


@pytest.mark.parametrize("text", ["show", "show me a mail", "please show mail", "show mail now"])
def test_nothing_else_is(text: str) -> None:
    assert Phrases.of(["show [me] [the] <mails>"], NAMES).read(text) is None


def test_a_wrong_letter_is_put_right_on_demand() -> None:
    phrases = Phrases.of(["what happened"], {})
    assert phrases.corrected("what happend") == "what happened"
    assert phrases.corrected("what happiness") == "what happiness"


@pytest.mark.parametrize("name", FILES)
def test_every_phrase_of_a_file_is_well_formed_and_its_needs_are_needed(name: str) -> None:
    """A phrase that matches a text has all its needs in it: the phrases of each file, compared with themselves."""
    for phrases in load(name).values():
        for phrase in phrases.phrases:
            assert phrase.pattern
            assert all(phrase.needs)


@given(st.text(max_size=80))
def test_any_text_is_laid_bare_and_read(text: str) -> None:
    said = bare(text).lower()
    assert len(said) <= len(text) * 3
    for phrases in load("measures").values():
        phrases.read(said)


def test_polite_words_are_left_out() -> None:
    assert bare("Hey, could you please tell me what time it is?  ") == "what time it is"
    assert bare("please") == "please"


@pytest.mark.parametrize("signs", ["," * 3900, " ," * 1950, ".," * 1950, "?!" * 1950, ", please" * 480])
def test_a_long_run_of_signs_is_left_out_at_once(signs: str) -> None:
    """Tried from each of its places, such a run takes seconds."""
    assert bare(f"what{signs}") == "what"
    assert bare(signs.replace(" please", "")) == ""
