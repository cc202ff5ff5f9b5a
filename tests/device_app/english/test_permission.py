"""Whether a sentence allows or forbids something."""

import pytest

from device_app.english.permission import asks_permission, permission


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("Pets: one cat is allowed.", "yes"),
        ("The tenant may keep one cat.", "yes"),
        ("Cats are permitted if the neighbours agree.", "yes"),
        ("The landlord allows one cat.", "yes"),
        ("A cat is not allowed.", "no"),
        ("No cats.", "no"),
        ("No large cats in the flat.", "no"),
        ("No cat or dog is allowed.", "no"),
        ("Cats aren't permitted here.", "no"),
        ("The tenant may not keep a cat.", "no"),
        ("Keeping a cat is forbidden.", "no"),
        ("You can't bring cats.", "no"),
        ("Nobody is allowed to keep a cat.", "no"),
        ("No more than two cats are allowed.", ""),
        ("There is no cat fee.", ""),
        ("Cats aren't banned.", ""),
        ("It is no longer forbidden to keep cats.", ""),
        ("You must not forget to feed the cat.", ""),
        ("The cat sleeps.", ""),
        ("There is no reason to wake the cat.", ""),
    ],
)
def test_a_sentence_allows_forbids_or_neither(sentence: str, says: str) -> None:
    assert permission(sentence, ["cat"]) == says


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Can I have a cat?", True),
        ("Are cats allowed in the flat?", True),
        ("May we keep a dog?", True),
        ("Can Petra come on Friday?", False),
        ("Could the roof leak again?", False),
        ("Is it forbidden to have a cat?", False),
        ("Can't I have a cat?", False),
        ("Does the cat sleep?", False),
    ],
)
def test_a_question_asks_for_a_permission(question: str, asks: bool) -> None:
    assert asks_permission(question) == asks
