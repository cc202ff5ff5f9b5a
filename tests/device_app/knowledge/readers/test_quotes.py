import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.readers.quotes import own_words

CASES = {
    "answer above": ("I will.\n\nOn Mon, 2 Mar 2026 at 10:00, Petra <p@x.org> wrote:\n> Will you come?\n", "I will."),
    "answer below": ("On Mon, 2 Mar 2026, Petra wrote:\n> Will you come?\n\nI will.\n", "I will."),
    "answers between": ("Petra wrote:\n> Come?\nYes.\n> Who drives?\nTomaso.\n", "Yes.\n\nTomaso."),
    "attribution of two lines": (
        "I will.\n\nOn Mon, 2 Mar 2026 at 10:00, Petra\n<p@x.org> wrote:\n\n> Come?\n",
        "I will.",
    ),
    "nothing before the quotation is its introduction": (
        "The rule says:\n> Be kind.\nI agree.\n",
        "The rule says:\n\nI agree.",
    ),
    "German": ("Ja.\n\nAm 02.03.2026 um 10:00 schrieb Petra:\n> Kommst du?\n", "Ja."),
    "French": ("Oui.\n\nLe 2 mars 2026 à 10:00, Petra a écrit :\n> Tu viens ?\n", "Oui."),
    "without marks": ("Yes.\n\nOn Mon, 2 Mar 2026 at 10:00, Petra wrote:\nWill you come?\n", "Yes."),
    "Outlook": ("Yes.\n\n-----Original Message-----\nFrom: Petra\nSent: Monday\n\nWill you come?\n", "Yes."),
    "Outlook, German": ("Ja.\n\n-----Ursprüngliche Nachricht-----\nVon: Petra\n\nKommst du?\n", "Ja."),
    "copied header": (
        "Yes.\n________________\nFrom: Petra\nSent: Monday\nTo: Me\nSubject: Party\n\nWill you?\n",
        "Yes.",
    ),
    "signature": ("Yes.\n\n-- \nPetra Orel\n555 0101\n", "Yes."),
    "a long text below two hyphens is no signature": ("A\n--\n" + "B\n" * 40, "A\n--\n" + "B\n" * 40),
    "phone": ("Yes.\n\nSent from my iPhone\n", "Yes."),
    "list footer": ("Yes.\n" + "_" * 47 + "\nRowers mailing list\nhttp://x.org/rowers\n", "Yes."),
    "a list of hyphens stays": ("Bring:\n- oars\n- soup\n", "Bring:\n- oars\n- soup"),
    "thanks are no signature": (
        "Thanks, I got the keys.\nThe code is 4711.\n",
        "Thanks, I got the keys.\nThe code is 4711.",
    ),
    "all quoted": ("> Will you come?\n> Please.\n", "Will you come?\nPlease."),
    "all but the attribution quoted": (
        "On Mon, 2 Mar 2026, Petra wrote:\n> Come?\n",
        "On Mon, 2 Mar 2026, Petra wrote:\nCome?",
    ),
    "bare forward": ("-----Original Message-----\nFrom: Petra\n\nThe code is 4711.", "4711"),
    "forward": ("See below.\n\n---------- Forwarded message ---------\nFrom: Petra\n\n> The code is 4711.\n", "4711"),
}


@pytest.mark.parametrize(("text", "own"), CASES.values(), ids=CASES)
def test_own_words(text: str, own: str) -> None:
    text_ = "\n".join(own_words(text.split("\n"))).strip()
    assert own in text_ if own == "4711" else text_ == own.strip()


@given(
    st.lists(
        st.sampled_from(["> a", ">", "", "a", "--", "On Monday Petra wrote:", "From: a", "Sent: b", "To: c", "_" * 40])
        | st.text(max_size=20)
    )
)
def test_a_mail_with_words_never_loses_all_of_them(lines: list[str]) -> None:
    own = own_words(lines)
    if any(line.strip("> \t\n\r\x0b\x0c\x85") and not line.startswith(">") for line in lines):
        assert any(line.strip() for line in own)


@pytest.mark.parametrize(
    "line", ["On Mon Petra wrote:", "> a", ">", "From: a", "--", "_" * 40, "On " * 90, "wrote: " * 40]
)
def test_mails_without_end_take_linear_time(line: str) -> None:
    # Quadratic time would run into the suite's limit.
    assert own_words([line] * 100_000 + ["> end"]) is not None
