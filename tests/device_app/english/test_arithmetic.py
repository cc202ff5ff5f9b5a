"""Numbers as the rules that answer arithmetic questions write them."""

import pytest

from device_app.english import arithmetic, measures


@pytest.mark.parametrize(
    ("question", "value", "unit"),
    [
        ("23 kilos of luggage, in pounds?", "50.7", "lb"),
        ("my suitcase weighs 23 kg, what's that in pounds", "50.7", "lb"),
        ("How many miles does a run of 12 kilometres make?", "7.4", "mi"),
        ("Please convert eleven stone into kilogrammes.", "69.8", "kg"),
        ("how many grams are in two pounds of butter", "907", "g"),
    ],
)
def test_a_conversion_among_other_words(question: str, value: str, unit: str) -> None:
    read = measures.read(question)
    assert read
    assert str(read.value).startswith(value)
    assert read.other == unit


@pytest.mark.parametrize(
    "question",
    [
        "how many pounds did the 3 kg of apples cost",
        "how many km did I run in 10 miles",
        "how many days of rain fell in 2 weeks",
        "how many litres are there in three UK pints",  # the pint here is the American one
        "how many miles is the hotel from the 5 km mark, in metres",
    ],
)
def test_other_questions_with_units(question: str) -> None:
    assert measures.read(question) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2^64", "18,446,744,073,709,551,616"),
        ("2^60", "1,152,921,504,606,846,976"),
        ("999999999999*999999999999", "999,999,999,998,000,000,000,001"),
        ("2^99", "6.338253001e+29"),
    ],
)
def test_large_numbers(value: str, text: str) -> None:
    read = arithmetic.read(value)
    assert read
    assert read.value is not None
    assert arithmetic.shown(read.value) == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what percentage is 30 of 120", "25"),
        ("what percentage of 120 is 30", "25"),
        ("30 is what percent of 120", "25"),
        ("what percent is 5 out of 20", "25"),
        ("what is 15% more than 200", "230"),
        ("what is 15% less than 200", "170"),
        ("fifteen plus twenty seven", "42"),
        ("two and a half times 30", "75"),
        ("half a million divided by 4", "125,000"),
        ("two dozen plus 5", "29"),
        ("96 plus 10% divided by 4", "26.4"),
        ("If eight sessions come to 360 euros, what does a single one cost?", "45"),
        ("how many times does 7 go into 91", "13"),
        ("36000 a year, what is that a month", "3,000"),
        ("850 a month, how much a year?", "10,200"),
        ("how much per person if 5 share 132.50", "26.5"),
    ],
)
def test_sums_in_words(question: str, text: str) -> None:
    read = arithmetic.read(question)
    assert read
    assert read.value is not None
    assert arithmetic.shown(read.value) == text


@pytest.mark.parametrize(
    "question",
    [
        "is 30 more than 20",
        "150 including 22% tax, what is the net",
        "remainder of 17 divided by 5",
        "what is 5 factorial",
        "2 dozen",
        "original price 80 now 60, what percent off",
        "cube root of 27",
        "how many square metres is 3.5 x 4.2",
        "100 euros minus 37 cents",
        "96 + 10% / 4 * 2 of",
        "mails in the second half of March",
        "half of the month",
    ],
)
def test_what_is_no_sum_is_left_to_others(question: str) -> None:
    assert arithmetic.read(question) is None
