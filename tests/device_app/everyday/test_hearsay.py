"""Questions about who said something in a chat, and when."""

import pytest

from tests.device_app.everyday.conftest import Ask

ANSWERS = {
    "when did Petra say she lent the drill to Wim": "3 October 2026: [1]\n> Petra: I lent your drill",
    "when did i tell Petra about the new dose": "9 October 2026: [1]\n> Runa Fjelde: The cat has a new dose",
    "Did Petra say anything about the drill?": "Yes.\n\nPetra, 3 October 2026: [1]\n> Petra: I lent your drill",
    "has anybody mentioned the new dose": "Yes.\n\nRuna Fjelde, 9 October 2026: [1]\n> Runa Fjelde: The cat",
    "which of us asked where the ladder was": "Petra, 9 October 2026: [1]\n> Petra: Where is the ladder?",
    "who asked about the ladder": "Petra, 9 October 2026: [1]\n> Petra: Where is the ladder?",
    "when did petra say the parcels were there": "9 October 2026: [1]\n> Petra: Where is the ladder? The parcels",
    "i can't remember who it was that brought up the new dose": "Runa Fjelde, 9 October 2026: [1]\n> Runa Fjelde: The",
    "petra and the drill, when was that": "3 October 2026: [1]\n> Petra: I lent your drill",
    "when did Petra lend the drill to Wim": "Said on 3 October 2026: [1]\n> Petra: I lent your drill",
    "who lent the drill to Wim": "Petra, said on 3 October 2026: [1]\n> Petra: I lent your drill",
    "Who told me about the drill?": "Petra, 3 October 2026: [1]\n> Petra: I lent your drill",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_answers(ask: Ask, question: str) -> None:
    ruled = ask(question)
    assert ruled
    assert ruled.text.startswith(ANSWERS[question])
    assert [item.as_json()["type"] for item in ruled.items] == ["message"]


@pytest.mark.parametrize(
    "question",
    [
        "When did Petra say she sold the drill?",  # a message holds most of the words, not all
        "When did Petra say she did not lend the drill?",
        "Did Petra say anything about the weather?",  # others may have, in other words
        "Did Petra say that she lent the drill?",
        "Did Petra mention the drill is broken?",
        "When did Zorblax say he lent the drill?",
        "Who told me about the weather?",
        "When did Petra say the parcels were lost?",
        "When does Petra come back?",
        "When the drill was asked for, who said he lent it?",
        "Who told me about the dose?",  # only the person said it
        "When did Petra remember the morning?",  # she says that she will
        "When did Wim lend the drill to Petra?",
        "who remembered the orange morning",
        "who did I tell about the new dose",
        "who was told about the drill",
        "when should Petra bring the drill",
        "who asked about the parcels",  # they are here: no question
        "who asked about the drill?",
        "when did Petra ask about the drill",
        "who wondered about the new dose",
        "who mentioned the drill most",
        "who mentioned the drill the most?",
        "who talked most about the drill",
        "who mentioned the drill most often",
        "who mentioned the drill more than Petra",
    ],
)
def test_unsure_it_steps_aside(ask: Ask, question: str) -> None:
    assert ask(question) is None
