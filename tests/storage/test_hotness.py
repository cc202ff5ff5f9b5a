"""Keys that are used often and recently get the highest scores."""

from storage.hotness import DECAY, Hotness


def test_a_use_long_ago_counts_less_than_one_now_and_two_more_than_one() -> None:
    hotness = Hotness[int]()
    hotness.ask([1])
    hotness.ask([2])
    hotness.ask([3])
    hotness.ask([3])
    assert hotness.coldest([3, 2, 1, 4]) == [4, 1, 2, 3]


def test_one_use_now_outweighs_two_of_so_long_ago() -> None:
    hotness, questions = Hotness[int](), 0
    hotness.ask([1])
    hotness.ask([1])
    while 2 * DECAY**questions >= 1:
        hotness.ask([])
        questions += 1
    hotness.ask([2])
    assert hotness.coldest([2, 1]) == [1, 2]


def test_scores_stay_finite_however_many_questions_are_asked() -> None:
    hotness = Hotness[int]()
    for question in range(200_000):
        hotness.ask([question % 7])
    assert hotness.coldest(range(8)) == [7, *(cluster % 7 for cluster in range(200_000 - 7, 200_000))]


def test_scores_can_be_kept_and_the_coldest_forgotten() -> None:
    hotness = Hotness[int]()
    for cluster in (1, 2, 2, 3, 3, 3):
        hotness.ask([cluster])
    again = Hotness(hotness.scores())
    again.forget_coldest(2)
    assert (len(again), again.coldest([1, 2, 3])) == (2, [1, 2, 3])
    again.ask([1])
    assert again.scores()[1] == 1.0
