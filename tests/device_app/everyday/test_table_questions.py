"""A hundred questions about tables, worded as different people would, on tables of several shapes; and malicious
tables.
"""

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from device_app.english.query import parse
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.tables import Tables
from device_app.knowledge.ingest import Ingestion
from models.fake import FakeEmbedder
from scripts.benchmarks.everyday_judging import judged
from storage.database import Database
from storage.knowledge import KnowledgeStore

HERE = Path(__file__).parent
BLIND = Path(__file__).parents[3] / "scripts" / "benchmarks" / "everyday_blind"
NOW = datetime.fromisoformat("2026-11-20T18:00:00+01:00")
LEAST_RIGHT, MOST_WRONG = 0.9, 0.02


def _questions(file: Path) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return questions


def _rule(home: Path, *folders: Path) -> Tables:
    store = KnowledgeStore(Database(home / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([*folders])
    return Tables(store)


SPENDING = """\
day,shop,sort,amount
2026-09-03,Rewe,groceries,40.00
2026-09-04,Aldi,groceries,8.00
2026-10-02,Rewe,groceries,20.00
2026-10-09,Optician,health,20.00
"""

ACCOUNT = """\
day,shop,amount
2026-09-03,Rewe,-40.00
2026-09-20,Rewe (return),20.00
2026-10-02,Rewe,-12.50
2026-10-05,Aldi,-35.00
"""

RuleOf = Callable[[str, str], Tables]


@pytest.fixture
def rule_of(tmp_path: Path) -> RuleOf:
    """Returns the rule that answers questions about tables, over one file with the given name and text."""

    def made(name: str, text: str) -> Tables:
        (tmp_path / "files").mkdir()
        (tmp_path / "files" / name).write_text(text, encoding="utf-8")
        return _rule(tmp_path, tmp_path / "files")

    return made


def _asked(rule: Tables, question: str) -> Ruled | None:
    return rule.answer(Asked(parse(question, NOW.date()), NOW))


@pytest.fixture(scope="module")
def rule(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rule that answers questions about tables, over eleven tables, only one of which a question is about."""
    return _rule(tmp_path_factory.mktemp("tables"), HERE / "tables", BLIND / "tables")


@pytest.mark.parametrize("file", [HERE / "table_questions.json", BLIND / "tables_open.json"], ids=["own", "blind"])
def test_questions_are_answered_right_or_left(rule: Tables, file: Path) -> None:
    questions = _questions(file)
    replies = {
        each["id"]: (ruled.text, False) for each in questions if (ruled := _asked(rule, each["question"])) is not None
    }
    unanswerable = {each["id"] for each in questions if each["unanswerable"]}
    states = judged(questions, replies)
    answerable = Counter(state for identity, state in states.items() if identity not in unanswerable)
    wrong = [each["question"] for each in questions if states[each["id"]] == "wrong_shown"]
    assert len(wrong) <= MOST_WRONG * len(questions), wrong
    left = [each["question"] for each in questions if states[each["id"]] == "abstained" and each["must"]]
    assert answerable["right"] >= LEAST_RIGHT * answerable.total(), left


def test_questions_that_are_not_about_tables_are_left(rule: Tables) -> None:
    questions = [each["question"] for each in _questions(BLIND / "everyday_open.json")]
    assert [question for question in questions if _asked(rule, question)] == []


@pytest.mark.parametrize(
    "question",
    [
        "What did Samir think of the new kettle?",
        "Why did we stop shopping at Big Basket?",
        "what's the best time to plant carrots",
        "did Anna reply about the piano?",
        "is the oven safe to use?",
        "who gave us the piano",
        "is Corner Market open on Sunday",
        "how far is the canal from here",
        "how long does it take to run a marathon",
        "how much does Noor owe me",
        "does Kofi work in Vienna",
        "is 150 a high heart rate",
        "show me everything that Rail24 has written to me",
        "latest news about Rail24",
        "what percent of the expenses is groceries",
        "how many runs on Saturdays",
        "average age of the things in the cellar",
        "how much did we spend today",
        "pace of my last run",
        "is the piano in tune?",
        "What notes did I make in June?",
        "my day on 24 October, what was in it?",
        "what was the date two weeks ago",
        "54 cm in inches",
        "how many mails did I get in March?",
        "can I return the lamp",
        "number of guests at the party",
        "the piano",
        "best time to call Dr Osei",
        "what is the best time to run on the canal",
        "which route is best",
        "what was my fastest run?",
        "what is new in the kitchen?",
        "is the fridge new",
        "what is in the fridge?",
        "where did we buy the dishwasher?",
        "how many grams was Liv?",
        "how many snails were there?",
        "how many papers did we buy",
        "do I run too much?",
        "how long did the oven last?",
        "what did the dentist pay",
        "who did we pay the most?",
        "what does check-up mean?",
        "how much is left of the grocery budget?",
        "how much did we spend on the piano and on Lightwell?",
    ],
)
def test_what_a_table_names_and_does_not_answer_is_left(rule: Tables, question: str) -> None:
    assert _asked(rule, question) is None


HOSTILE = {
    "wide.csv": ",".join(f"value {number}" for number in range(500)) + "\n" + ",".join("1" for _ in range(500)) + "\n",
    "sql.csv": 'name,note,price\n"x\'); DROP TABLE tables; --",=1+1,3\n=HYPERLINK("http://a"),"@SUM(1;2)",4\n',
    "same.csv": ",".join(["name"] * 60) + "\n" + ("pear," * 59 + "pear\n") * 3,
    "words.csv": "a,b\n" + "".join(f"pear {number},plum {number}\n" for number in range(600)),
    "ragged.csv": 'item,price\n,\nlamp\nsofa,3,4,5\n"",""\n',
    "signs.csv": "👍,€,%\nyes,3,4\n\u202eabc,5,6\n",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rule that answers questions about tables, over malicious tables."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "files").mkdir()
    for name, text in HOSTILE.items():
        (folder / "files" / name).write_text(text, encoding="utf-8")
    return _rule(folder, folder / "files")


@pytest.mark.parametrize(
    "question",
    [
        "what is the sum of value 7",
        "how much is the pear",
        "pear pear pear pear pear pear name name name name name",
        "how many pear plum pear plum",
        "total price of x'); DROP TABLE tables; --",
        "price of =1+1",
        "the highest € in signs",
        "how many yes in signs over 10000000000000000000000000000000000000 %",
        "is the lamp in the sofa",
        "between 9 and 3 price of the sofa",
        "prices except except except",
        "top 99 most expensive items by price per item per month",
        "\u202e\u0000\x1b[31m price",
    ],
)
def test_hostile_tables_and_questions_do_no_harm(hostile: Tables, question: str) -> None:
    ruled = _asked(hostile, question)
    assert ruled is None or ruled.text
    row = _asked(hostile, "what does the x'); DROP TABLE tables; -- cost")
    assert row is not None
    assert row.text.startswith("price: 3.")


def test_cells_with_formulas_and_sql_are_texts(hostile: Tables) -> None:
    assert _asked(hostile, "what is the total price in sql") is not None
    total = _asked(hostile, "total price in sql.csv")
    assert total is not None
    assert total.text.startswith("7: the sum of “price” in 2 rows of sql.csv")


def test_a_table_of_500_columns_is_left_to_the_passages(hostile: Tables) -> None:
    assert _asked(hostile, "what is the sum of value 7 in wide") is None


def test_what_is_left_out_is_left_out_of_longer_cells_as_well(rule_of: RuleOf) -> None:
    rule = rule_of("plants.csv", "plant,place,price\nsavory,stone wall,3\nsage,top of the stone wall,4\nfig,corner,5\n")
    ruled = _asked(rule, "which plants are not in the stone wall?")
    assert ruled
    assert [item.as_json()["cells"]["plant"] for item in ruled.items] == ["fig"]


def test_a_time_is_no_heart_rate_and_the_best_is_the_least(rule: Tables) -> None:
    ruled = _asked(rule, "what is my best time on the canal")
    assert ruled
    assert ruled.understood == "least time · route = canal · running_log.csv"


STAIRS = """plant,quantity,place
White mulberry,9,landings
Black mulberry,5,upper steps
Rosemary,60,lower steps
"""


@pytest.mark.parametrize("question", ["How many steps do the stairs have?", "How many mulberries are there?"])
def test_what_a_table_only_mentions_is_not_counted_by_its_rows(rule_of: RuleOf, question: str) -> None:
    assert _asked(rule_of("mulberry_stairs_plants.csv", STAIRS), question) is None


def test_a_present_says_no_birthday_and_who_is_given_something_pays_nothing(rule_of: RuleOf) -> None:
    rule = rule_of("expenses.csv", 'date,what,paid to,euros\n2026-04-22,"Music stand, Tom\'s birthday",Musica,89\n')
    assert _asked(rule, "When is Tom's birthday?") is None
    assert _asked(rule, "What did Tom pay?") is None
    assert _asked(rule, "What did Tom's birthday cost?") is not None


@pytest.mark.parametrize(
    ("question", "first", "understood"),
    [
        ("How much do I spend per month?", "The sum of “amount” by month", "sum of “amount” by month · costs.csv"),
        ("what do we spend per month", "The sum of “amount” by month", "sum of “amount” by month · costs.csv"),
        ("how much do I spend each month on average?", "44 on average over the 2 months with rows.", ""),
        ("how much do I spend on average a month?", "44 on average over the 2 months with rows.", ""),
        (
            "how much do I spend a month on groceries?",
            "The sum of “amount” by month of “day” in costs.csv, where sort is groceries:",
            "sum of “amount” by month · sort = groceries · costs.csv",
        ),
        ("how much do I spend monthly on groceries", "The sum of “amount” by month of “day”", ""),
        ("what is my average monthly spending on groceries?", "34 on average over the 2 months with rows.", ""),
        ("what is our monthly spending?", "The sum of “amount” by month of “day” in costs.csv:", ""),
        ("how much do I spend a year on groceries?", "The sum of “amount” by year of “day”", ""),
    ],
)
def test_spending_is_summed_by_month(rule_of: RuleOf, question: str, first: str, understood: str) -> None:
    ruled = _asked(rule_of("costs.csv", SPENDING), question)
    assert ruled
    assert ruled.text.startswith(first)
    assert understood in ruled.understood
    assert "2026" in ruled.text


@pytest.mark.parametrize(
    "question",
    [
        "how much does it cost per month?",
        "how much do they pay per month?",
        "how much do you cost a month?",
        "how much did we spend in half a year?",
        "how much can I spend for a month?",
        "how much does a month cost?",
        "did I spend more than 30 per month?",
        "what is the monthly fee",
    ],
)
def test_a_month_that_is_no_group_is_left(rule_of: RuleOf, question: str) -> None:
    assert _asked(rule_of("costs.csv", SPENDING), question) is None


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("did I spend more at Rewe or at Aldi?", "No: "),
        ("did I spend more at Aldi or at Rewe?", "Yes: "),
        ("where did I spend more, Rewe or Aldi?", "Aldi: the greatest sum"),
        ("where did I spend less, Rewe or Aldi?", "Rewe: the least sum"),
        ("which month did I spend the most?", "2026-10: the greatest sum"),
        ("did I spend more than 30 at Rewe?", "Yes: -32.50"),
        ("did I spend more than 40 at Rewe?", "No: -32.50"),
    ],
)
def test_payments_below_zero_are_spent(rule_of: RuleOf, question: str, first: str) -> None:
    ruled = _asked(rule_of("account.csv", ACCOUNT), question)
    assert ruled
    assert ruled.text.startswith(first)


RUNS = """date,route,distance_km,duration_min,fee_eur,pace_min_per_km,vitamin_c
2026-10-01,park,5.2,30,0,5.8,4
2026-10-08,river,10.1,58,4.5,5.7,5
2026-11-02,hill,8,52,3,6.5,6
"""


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("how far did I run in October?", "15.3 km: "),
        ("what is the total distance?", "23.3 km: "),
        ("what is the sum of the fees?", "7.5 EUR: "),
        ("total duration of the runs", "140 min: "),
        ("average pace", "6: "),
        ("total vitamin c", "15: "),
    ],
)
def test_a_unit_behind_an_underscore_is_shown(rule_of: RuleOf, question: str, first: str) -> None:
    ruled = _asked(rule_of("runs.csv", RUNS), question)
    assert ruled
    assert ruled.text.startswith(first)


@pytest.mark.parametrize(
    ("question", "first", "line"),
    [
        ("how far did I run per week?", "The sum of “distance_km” by week", "- week of 2026-10-05: 10.1 km in 1 row"),
        ("how far did I run per month?", "The sum of “distance_km” by month", "- 2026-10: 15.3 km in 2 rows"),
        ("how many runs per week?", "The number of rows by week", "- week of 2026-11-02: 1 row"),
    ],
)
def test_distances_are_summed_by_week_and_month(rule_of: RuleOf, question: str, first: str, line: str) -> None:
    ruled = _asked(rule_of("runs.csv", RUNS), question)
    assert ruled
    assert ruled.text.startswith(first)
    assert line in ruled.text


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("how much do I spend per week?", "The sum of “amount” by week of “day” in costs.csv:"),
        ("what is our weekly spending?", "The sum of “amount” by week of “day” in costs.csv:"),
        ("how much do I spend a week on average?", "29.33 on average over the 3 weeks with rows."),
    ],
)
def test_spending_is_summed_by_week(rule_of: RuleOf, question: str, first: str) -> None:
    ruled = _asked(rule_of("costs.csv", SPENDING), question)
    assert ruled
    assert ruled.text.startswith(first)
    assert "- week of 2026-" in ruled.text


PURCHASES = """day,shop,item,price_eur
2026-10-01,Rewe,food,25.20
2026-10-02,Rewe (return),food,-5.20
2026-10-08,Bauhaus,drill,80
2026-11-09,Bauhaus (return),drill,-80
"""


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("where did I spend the least?", "Rewe: 25.20 EUR, the least “price_eur” in costs.csv, where shop is not"),
        ("what was the smallest price?", "25.20 EUR: the least “price_eur”"),
    ],
)
def test_refunds_are_no_purchases_in_a_ranking(rule_of: RuleOf, question: str, first: str) -> None:
    ruled = _asked(rule_of("costs.csv", PURCHASES), question)
    assert ruled
    assert ruled.text.startswith(first)
    assert "Money that came back is left out: “Bauhaus (return)”, “Rewe (return)”." in ruled.text
    assert "row 5" not in ruled.text


def test_a_question_for_refunds_ranks_them(rule_of: RuleOf) -> None:
    ruled = _asked(rule_of("costs.csv", PURCHASES), "what was the greatest price of Bauhaus (return)?")
    assert ruled
    assert "-80" in ruled.text
