"""Questions about the user, put into the first person, as the user would ask them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.first_person import in_first_person

MINE = ("LiHua", "Li Hua")


@pytest.mark.parametrize(
    ("question", "mine"),
    [
        ("What did Li Hua buy for Anna?", "What did I buy for Anna?"),
        ("What does LiHua want to eat?", "What do I want to eat?"),
        ("Is LiHua free on Friday?", "Am I free on Friday?"),
        ("When has Li Hua paid the rent?", "When have I paid the rent?"),
        ("What did Anna ask LiHua about the key?", "What did Anna ask me about the key?"),
        ("When is Li Hua's flight?", "When is my flight?"),
        ("LiHua's landlord asks for what?", "My landlord asks for what?"),
        ("Who lent LiHua's drill to Li Hua?", "Who lent my drill to me?"),
        ("What does Anna think that Li Hua wants?", "What does Anna think that Li Hua wants?"),
        ("What did Li Huang buy?", "What did Li Huang buy?"),
        ("Where is the key?", "Where is the key?"),
    ],
)
def test_who_asks_is_i(question: str, mine: str) -> None:
    assert in_first_person(question, MINE) == mine


@given(st.text(max_size=60), st.lists(st.text(max_size=6), max_size=3))
def test_whatever_people_are_called_it_ends(question: str, mine: list[str]) -> None:
    in_first_person(question, mine)
