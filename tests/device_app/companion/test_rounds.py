"""The server's reports of its rounds of retrieval, as the device stores them."""

from device_app.companion.rounds import MOST_FURTHER, Rounds
from device_app.question.answer import LookedUp, looked_up_line
from shared.protocol import messages as m


def passage(number: int) -> m.PublicPassage:
    return m.PublicPassage(number, "", "", "", 0.0, 0.0)


def test_passages_behind_the_sources_are_further_ones_each_once() -> None:
    rounds = Rounds()
    rounds.add(m.Round(1, 1, "hyde", ("a\x1b[2J\nb",), (passage(9),)))
    assert not rounds.further
    rounds.begin_answer([passage(1)])
    rounds.add(m.Round(1, 2, "flare", (), (passage(1), passage(2))))
    rounds.add(m.Round(1, 3, "flare", ("c",), (passage(2), passage(9))))
    assert [further.id for further in rounds.further] == [2, 9]
    assert rounds.looked_up == [
        LookedUp("hyde", ("a[2J b",), (9,)),
        LookedUp("flare", (), (1, 2)),
        LookedUp("flare", ("c",), (2, 9)),
    ]


def test_further_passages_are_bounded() -> None:
    rounds = Rounds()
    rounds.begin_answer(())
    for number in range(m.MOST_ROUNDS):
        rounds.add(m.Round(1, number + 1, "flare", (), tuple(map(passage, range(16 * number, 16 * number + 16)))))
    assert len(rounds.further) == MOST_FURTHER
    assert len(rounds.looked_up) == m.MOST_ROUNDS


def test_a_round_is_one_line_however_long_it_is() -> None:
    line = looked_up_line(LookedUp("flare", ("a " * 99,) * 16, (1,)).as_json())
    assert len(line) < 300
    assert line.endswith("13 more (1 passage)")
    assert looked_up_line(LookedUp("plain", (), ()).as_json()) == "plain: looked up nothing (0 passages)"
