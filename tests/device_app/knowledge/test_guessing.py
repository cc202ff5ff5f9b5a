"""Guessing who the user is, from the mails and chats in the files."""

import pytest

from device_app.knowledge.guessing import Said, guesses

ANNA, BEN, CARL, LIST = "Anna <anna@x.org>", "Ben <ben@x.org>", "Carl <carl@x.org>", "list@x.org"


def mails(path: str, *people: tuple[str, ...]) -> list[Said]:
    return [Said(path, "Re: tea", each) for each in people]


def chats(**members: tuple[str, ...]) -> list[Said]:
    return [Said(f"/chats/{name}.txt", f"{name}, 2026-08-12", people) for name, people in members.items()]


@pytest.mark.parametrize(
    "path",
    [
        "/m/Sent",
        "/m/.Sent/cur/1",
        "/m/Sent Mail.mbox",
        "/m/Gesendet",
        "/m/INBOX.Sent/cur/2",
        "C:\\m\\Sent Items\\a.eml",
    ],
)
def test_who_sends_most_of_the_sent_mails(path: str) -> None:
    (guess,) = guesses(mails(path, (ANNA, BEN), (ANNA, CARL), (BEN, ANNA)), [])
    assert guess.written == ANNA
    assert guess.reason == "sent 2 mails of 3 in folders of sent mail"


@pytest.mark.parametrize("path", ["/m/presents.mbox", "/m/sentences/1.eml", "/m/inbox"])
def test_other_folders_are_no_sent_mail(path: str) -> None:
    assert guesses(mails(path, (ANNA, BEN)), []) == []


def test_who_gets_most_mails_and_writes_some_is_no_list() -> None:
    got = [(BEN, LIST, ANNA), (CARL, LIST, ANNA), ("Dora <d@x.org>", LIST, ANNA)] * 3
    (guess,) = guesses(mails("/m/inbox", *got, (ANNA, LIST)), [])
    assert guess.written == ANNA


def test_a_few_mails_let_guess_nothing() -> None:
    assert guesses(mails("/m/inbox", (BEN, ANNA), (CARL, ANNA)), []) == []


def test_chats_of_a_title_with_a_comma_stay_apart() -> None:
    mine = [Said("/a", "Cook, Ann", ("Cook", "LiHua")), Said("/a", "Cook, Bea", ("Cook", "LiHua"))]
    assert guesses([], [*mine, Said("/a", "Dan", ("Dan", "LiHua"))])[0].written == "LiHua"


def test_who_is_in_most_chats() -> None:
    (guess,) = guesses([], chats(Ben=("Ben", "LiHua"), Club=("LiHua", "Carl", "Dora"), Carl=("Carl", "LiHua")))
    assert (guess.written, guess.reason) == ("LiHua", "in 3 of 3 chats")


def test_the_other_person_of_a_chat_with_a_name() -> None:
    (guess,) = guesses([], chats(Tomaso=("Tomaso", "Runa")))
    assert guess.written == "Runa"


def test_two_who_are_always_together_let_guess_nothing() -> None:
    assert guesses([], chats(a=("Ann", "Bo"), b=("Ann", "Bo"))) == []
