"""Which answers are of another kind than their question asks for."""

import pytest

from device_app.english.answer_kinds import misfits


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When is the boat inspected?", "Wim de Raad"),
        ("when was the drill lent", "a sensible name"),
        ("What day was the roof repaired?", "the plumber"),
        ("At what point did the fence move?", "Petra"),
        ("Could you look up the day Mum wrote that the visit was booked?", "No"),
        ("Find out, please, when the research had its breakthrough.", "the laboratory"),
        ("I believe Jake set out the rule for me. What day was that?", "the offside rule"),
        ("Please tell me when the train leaves", "platform"),
        ("How many keys are there?", "the boathouse"),
        ("how much is the rent?", "Petra pays"),
        ("How old is Runa?", "sister's daughter"),
        ("Who has the drill?", "No"),
        ("Where is the key?", "Yes."),
        ("When is the boat inspected?", "Marina Ferluga"),
        ("When is the boat inspected?", "Sunil and Monica"),
        ("When was the drill lent?", "the tennis club"),
        ("How often does the club meet?", "the boathouse"),
    ],
)
def test_an_answer_of_another_kind_is_noticed(question: str, answer: str) -> None:
    assert misfits(question, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When is the boat inspected?", "14 May"),
        ("When is the boat inspected?", "in spring"),
        ("When was that?", "shortly after the party"),
        ("when does the shop open", "at nine"),
        ("What time is it?", "noon"),
        ("How many keys are there?", "None"),
        ("How many keys are there?", "three"),
        ("how much is the rent?", "free"),
        ("How old is Runa?", "9"),
        ("Is the boat inspected?", "No"),
        ("Can you tell me whether the drill came back?", "No"),
        ("Could you look up if the visit is booked?", "Yes"),
        ("Does Petra know when the boat is inspected?", "No"),
        ("The time required to read a page is called what?", "reading time"),
        ("When it rains, where is the umbrella?", "behind the door"),
        ("When Petra came, what did she bring?", "apricot dumplings"),
        ("Which time zone is Lyon in?", "Central European Time"),
        ("How often does the club meet?", "Wednesdays"),
        ("When is it?", "no later than Monday"),
        ("When is it?", "on the twentieth"),
        ("When was that?", "Sept"),
        ("Who paid?", "No one"),
        ("Who pays?", "Yes Theatre"),
        (
            "When is the boat inspected?",
            "The harbour master said that he would have to look at the papers first, and then at hulls",
        ),
        ("", "No"),
        ("When is it?", ""),
    ],
)
def test_an_answer_that_may_fit_is_kept(question: str, answer: str) -> None:
    assert not misfits(question, answer)
