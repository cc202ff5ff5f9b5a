"""Many wordings of the same question: how the rules understand each, and which are left to the model.

The word order is free.
"""

import pytest

from tests.device_app.everyday.conftest import Ask

UNDERSTOOD: dict[str, tuple[str, ...]] = {
    "mails · from Rick Moen": (
        "all mail from Rick Moen",
        "Rick Moen's mails",
        "what has Rick Moen written to me",
        "which emails did Rick Moen send me?",
        "count the mails Rick Moen sent",
        "number of e-mails by Rick Moen",
        "how often has Rick Moen written to me?",
        "I need every email Rick Moen has sent",
        "from Rick Moen, how many emails?",
        "emials form Rick Moen plz",
        "no clue which emails rick moen sent me, could you check",
        "any mail by Rick Moen?",
    ),
    "mails · from “rick smith”": ("mails from Rick Smith",),
    "mails · that you received · on Monday 5 October 2026": ("did I get any mail on 5 October?",),
    "mails · from 5 October 2026 to 11 October 2026": ("mails in the week of 5 October",),
    "mails · from Rick Moen · in October 2026": (
        "Rick Moen mails october",
        "what arrived from Rick Moen in oct?",
        "in October, what did Rick Moen write to me",
        "everything by Rick Moen in October 2026",
    ),
    "mails · from Rick Moen · from 1 October 2026 to 10 October 2026": ("what did Rick Moen send me early in October",),
    "mails · that you received · in October 2026": ("who wrote to me in October?", "mails I got in October"),
    "mails · with Anna Holt": ("mails between me and Anna Holt", "the exchange of mails with Anna Holt"),
    "mails · from Rick Moen · on Monday 5 October 2026": (
        "subject of the mail Rick Moen sent on 5 October?",
        "under which title did Rick Moen write on 5 October",
        "Rick Moen, 5 october - subject?",
    ),
    "notes · about “boathouse”": (
        "notes about the boathouse",
        "which notes mention the boathouse?",
        "how many notes do I have about the boathouse",
    ),
    "latest of notes · about “boathouse”": (
        "newest boathouse note",
        "what did I last note about the boathouse",
        "my most recent note on the boathouse please",
        "when did I last write about the boathouse",
    ),
    "documents · from 1 October 2026 to 20 November 2026": (
        "what's new since October?",
        "anything new since 1 October 2026",
        "my files since October",
    ),
    "who sent most · mails · that you received": ("who writes to me most often", "from whom do I get the most mail?"),
    "documents · from 16 November 2026 to 20 November 2026": (
        "have i missed anything this week",
        "what came in this week?",
    ),
    "notes · in September 2026": ("what did i write down in september",),
    "mails · about “winter plans”": ("which mail has winter plans in the subject",),
    "what was done · Saturday 14 November 2026": (
        "what went on on 14 November?",
        "14 november: what did I do",
        "recap of the 14th of November please",
        "take me back to November 14",
    ),
    "what was said · Friday 9 October 2026 · with Petra": (
        "what did I talk about with Petra on 9 October",
        "chat with Petra of 9 October",
    ),
    "who said it in a chat · “the drill”": (
        "who brought up the drill",
        "I recall someone talking about the drill, who was it?",
    ),
    "when said it in a chat · by Petra · “she lent the drill to wim”": (
        "what day did Petra say she lent the drill to Wim",
        "when was it that Petra said she lent the drill to Wim",
    ),
    "arithmetic · 138 ÷ 4": ("how much do I pay if four people split 138 euros?", "138 euros shared by 4 friends"),
    "arithmetic · (18 × 18) ÷ 2": ("multiply 18 by 18 then halve it",),
    "arithmetic · 79 + 15%": ("if rent is 79 and goes up by 15 percent what is it then", "79 plus 15%"),
    "units · 2 m in in": ("how many inches are in 2 metres", "2 metres in inches?"),
    "time zones · 15:00 in Tokyo → here": (
        "if it's 3 pm in Tokyo, what time is it here?",
        "3 pm in Tokyo what time here",
    ),
    "days · until Friday 25 December 2026": ("how long till christmas", "days to go until 25 december"),
    "talk · good night": ("ok I'm off to bed, night night", "sleep well!"),
    "talk · thanks": ("thanks a million, that's exactly what I needed", "cheers, that helped a lot"),
    "talk · low": ("I had a rotten day.", "I'm so tired"),
    "talk · private": ("do you upload anything", "who can see what I ask you"),
    "talk · cannot": ("can you google smth for me", "could you set an alarm for 7?"),
}


@pytest.mark.parametrize(("understood", "question"), [(key, each) for key, some in UNDERSTOOD.items() for each in some])
def test_it_is_understood(ask: Ask, understood: str, question: str) -> None:
    ruled = ask(question)
    assert ruled
    assert ruled.understood == understood


LEFT = (
    "Why did Rick write?",
    "What did Rick say about skiing?",
    "which mails have I not answered",
    "Which mail says when the plumber comes?",
    "who paid for the party?",
    "how many people came",
    "how many people came to the boathouse",
    "what did the mayor promise",
    "how do I bake the cake",
    "how do I reset my phone",
    "what is the version of the contract",
    "what is the time limit",
    "what can I cook tonight",
    "who was born on 3 May",
    "each of 4 people pays 23.50, what's that altogether",
    "how many times have I been to Rick Moen",
    "how old is the cat",
    "which notes explain the roof and the tiles",
    "What does Petra think about the drill?",
    "who is coming to dinner tomorrow",
    "how many of the 45 mails and 12 notes are new",
    "3 of 5 people",
    "what should I bring to the market",
    "was the bench expensive",
    "write a mail to Rick Moen about the roof",
    "can you send Anna Holt a message?",
    "delete the mails from Rick Moen",
    "reply to the last mail from Tom Reed",
    "unread mails",
    "how many different people wrote to me?",
    "what is planned for Christmas?",
    "what day of the week is my birthday",
    "am I happy?",
    "how's the weather",
    "What did the mail from Moen cost me?",
    "my important mails",
    "which mails do I still have to answer?",
    "is the post office open on Monday?",
    "how many boxes of tiles came?",
    "how many square metres of tiles?",
    "who sent the tiles?",
    "when did we decide on the tiles?",
)


@pytest.mark.parametrize("question", LEFT)
def test_it_is_left_to_the_model(ask: Ask, question: str) -> None:
    assert ask(question) is None
