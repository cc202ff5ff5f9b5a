"""Questions about dates, times, sums and units, which rules answer."""

import pytest

from tests.device_app.everyday.conftest import Ask

ANSWERS = {
    "What is the date today?": "Today is Friday 20 November 2026.",
    "what day is it": "Today is Friday 20 November 2026.",
    "what time is it?": "It is 18:00 on Friday 20 November 2026.",
    "What time is it in Tokyo right now?": "It is 02:00 in Tokyo, Saturday 21 November 2026.",
    "how long until noon": "18 hours and 0 minutes until noon.",
    "how long until midnight": "6 hours and 0 minutes until midnight.",
    "in how many days is the 1st of january": "42 days until Friday 1 January 2027, 6 weeks.",
    "how many days until christmas": "35 days until Friday 25 December 2026, 5 weeks.",
    "how many days since 1 November 2026": "19 days since Sunday 1 November 2026, 2 weeks and 5 days.",
    "how many days between 1 May 2026 and 8 May 2026": "7 days from Friday 1 May 2026 to Friday 8 May 2026, 1 week.",
    "what day is it on 4 December": "Friday 4 December 2026.",
    "what weekday was 9 November 1989": "Thursday 9 November 1989.",
    "is 25 december a friday": "Yes: Friday 25 December 2026.",
    "which week is 5 october 2026": "Monday 5 October 2026 is in week 41 of 2026 (ISO 8601).",
    "Is 2100 a leap year?": "No, 2100 is not a leap year.",
    "what's the date in three weeks": "Friday 11 December 2026.",
    "when is easter 2027": "Sunday 28 March 2027: in 128 days, 18 weeks and 2 days.",
    "when it's 8 am here, what time is it in Los Angeles": (
        "08:00 here is 23:00 in Los Angeles, the day before (on Friday 20 November 2026)."
    ),
    "convert 15:00 Rome to New York time": "15:00 in Rome is 09:00 in New York (on Friday 20 November 2026).",
    "time difference between Tokyo and London": "London is 9 hours behind Tokyo now.",
    "what is 15% of 80?": "15% of 80 = 12",
    "-3 + 5": "−3 + 5 = 2",
    "(19*0.8)*12": "(19 × 0.8) × 12 = 182.4",
    "100 + 19%": "100 + 19% = 119",
    "17 squared": "17^2 = 289",
    "square root of 144": "sqrt 144 = 12",
    "split 163.40 between four people": "163.40 ÷ 4 = 40.85",
    "if i pay 850 a month, what is that in a year?": "850 × 12 = 10,200",
    "20% off 80": "80 − 20% = 64",
    "1/0": "1 ÷ 0 has no value that can be computed.",
    "9^9^9": "9^9^9 has no value that can be computed.",
    "convert 30 celsius to fahrenheit": "30 °C = 86 °F",
    "how many km is 5 miles": "5 mi = 8.05 km",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_answers(ask: Ask, question: str) -> None:
    ruled = ask(question)
    assert ruled
    assert ruled.text == ANSWERS[question]


ASIDE = (
    "2026-03-14",
    "12:30",
    "040-123-4567",
    "50%",
    "what is 7",
    "How many days are left until the opening?",
    "what time is my dentist appointment",
    "When is the dentist?",
    "What is on tomorrow?",
    "and tomorrow?",
    "And on Friday?",
    "what time is it in Narnia",
    "convert 3 cats to dogs",
    "convert 3 kg to metres",
    "__import__('os').system('true')",
    "(" * 300,
    "how many days between Easter and my birthday",
    "how many days from today until my birthday",
)


@pytest.mark.parametrize("question", ASIDE)
def test_what_they_leave_to_others(ask: Ask, question: str) -> None:
    assert ask(question) is None
