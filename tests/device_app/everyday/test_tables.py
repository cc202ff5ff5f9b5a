"""Questions about tables: the right row, totals of a column, ambiguous questions, and those that the rule leaves to the
model.
"""

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.query import parse
from device_app.everyday import tables
from device_app.everyday.rule import Asked, Everyday, Ruled
from device_app.everyday.tables import Tables
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.readers import sheets
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore

NOW = datetime.fromisoformat("2026-11-20T18:00:00+01:00")

WORDS = "how much many total most least who paid Anna groceries March over 10 km the last in kg first average"

FILES = {
    "flat_costs.csv": """\
day,shop,category,amount,currency,paid by
2026-03-02,Luna,eating out,20.00,EUR,Petra
2026-03-09,Luna,eating out,30.50,CHF,Tomaso
2026-03-14,Corner Market,groceries,41.20,EUR,Petra
2026-04-01,Corner Market,groceries,18.80,EUR,Tomaso
2026-05-05,Optician,health,64.00,EUR,Petra
2026-05-06,Corner Market,groceries,,EUR,Petra
""",
    "apples.csv": """\
picked,tree,amount,unit
2026-09-01,old tree,2.5,kg
2026-09-02,young tree,500,g
2026-09-03,old tree,3,crates
2026-09-04,young tree,1.5,kg
""",
    "people.csv": """\
first name,last name,mobile,city,birthday
Anna,Brandt,555 7740,Graz,1971-05-02
Anna,Okoro,555 7446,Linz,1998-01-18
Uma,Rao,555 7798,Vienna,1976-10-21
""",
    "walks.csv": """\
date,route,distance map (km),distance watch (km),time,climb (m)
2026-06-01,canal,10.7,11.04,0:55:07,22
2026-06-08,hill,12.0,12.45,1:06:42,112
2026-07-04,harbour,9.1,9.37,0:52:40,146
""",
    "books.csv": """\
Title,Author,Pages,Read on,Rating
The Summer Book,Tove Jansson,184,2026-02-01,5
Stoner,John Williams,288,2026-03-11,4
Augustus,John Williams,336,,3
""",
    "party.csv": """\
item,occasion,paid to,euros
soup,carnival,several,163.40
band,carnival,Blue Notes,250.00
""",
    "swims.csv": """\
day,swum
2026-06-02,1500 m
2026-06-04,2 km
2026-06-09,800 m
""",
    "gear.csv": """\
bought,gear,price
2026-01-02,lamp,EUR 10.00
2026-01-03,tent,€ 20.50
2026-01-04,tarp,$ 7.00
2026-01-05,axe,8.00 USD
2026-01-06,map,£ 3.00
2026-01-07,stove,GBP 30.00
""",
    "shopping.csv": """\
date,market,kind,price
2026-02-01,Rewe,bread,42.10 EUR
2026-02-05,Rewe,bread,18.00 EUR
2026-02-07,Rewe (return),bread,-5.10 EUR
2026-02-08,Rewe (credit),bread,2.00 EUR
2026-03-09,Rewe City,bread,11.00 EUR
""",
    "chemists.csv": """\
date,shop,price
2026-04-01,Penny,35.00 EUR
2026-04-02,Kaufhof,30.00 EUR
2026-04-03,Penny refund,-10.00 EUR
""",
    "account.csv": """\
day,payee,paid
2026-02-01,Body Shop,-12.00 EUR
2026-02-02,The Body Shop,-8.00 EUR
2026-02-03,PayPal,-5.00 EUR
2026-02-04,PayPal Credit,-9.00 EUR
2026-02-05,Body Shop (return),4.00 EUR
""",
    "hobbies.csv": """\
hobby,euros
choir,20.00
choir,30.00
kites,5.00
kites,6.00
""",
    "members.csv": """\
name,fee,total score
Bo,40,7
Ida,25,9
""",
    "material.csv": """\
material,price,total cost
rope,$18.20,36.40
varnish,€ 33.00,33.00
lamp,,59.90
""",
    "hours.csv": """\
day;client;task;hours;billed
02.03.2026;Nordbank;workshop;6,5;yes
05.03.2026;Studio Vega;layout;7,25;no
06.03.2026;Studio Vega;call;1;
""",
    "notes.md": "# Dentist\n\nThe dentist sees me on Tuesday.\n",
}


@pytest.fixture(scope="module")
def rule(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rule that answers questions about tables, over the test's files."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "files").mkdir()
    for name, text in FILES.items():
        (folder / "files" / name).write_text(text, encoding="utf-8")
    store = KnowledgeStore(Database(folder / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([folder / "files"])
    return Tables(store)


def _ruled(rule: Tables, question: str) -> Ruled | None:
    return rule.answer(Asked(parse(question, NOW.date()), NOW))


def _answer(rule: Tables, question: str) -> Ruled:
    ruled = _ruled(rule, question)
    assert ruled, question
    return ruled


@pytest.mark.parametrize(
    ("question", "text", "understood"),
    [
        (
            "What has Petra paid for health in total?",
            "64.00 EUR",
            "sum of amount · category = health · paid by = Petra · 1 row of flat_costs.csv",
        ),
        (
            "how much did we spend on groceries",
            "60.00 EUR",
            "sum of amount · category = groceries · 3 rows of flat_costs.csv",
        ),
        ("average for groceries?", "30.00 EUR", "average of amount · category = groceries · 3 rows of flat_costs.csv"),
        (
            "how much did Tomaso spend in April?",
            "18.80 EUR",
            "amount · paid by = Tomaso · day in April 2026 · 1 row of flat_costs.csv",
        ),
        (
            "how many groceries did Petra buy between March and April",
            "1 row",
            "number of rows · category = groceries · paid by = Petra · "
            "day from 2026-03-01 to 2026-04-30 · flat_costs.csv",
        ),
        (
            "how many different shops are in the flat costs",
            "3 different values",
            "different values of shop · flat_costs.csv",
        ),
        (
            "who paid the most for groceries?",
            "Petra",
            "sum of “amount” by paid by · category = groceries · flat_costs.csv",
        ),
        ("when did we last go to Luna", "2026-03-09", "latest day · shop = Luna · flat_costs.csv"),
        ("what was the highest climb?", "146 m", "greatest climb (m) · walks.csv"),
        (
            "how far did I walk in june by the watch",
            "23.49 km",
            "sum of distance watch (km) · date in June 2026 · 2 rows of walks.csv",
        ),
        ("fastest time of a walk", "0:52:40", "least time · walks.csv"),
        ("how many walks over 10 km by the map", "2 rows", "number of rows · distance map (km) over 10 · walks.csv"),
        ("how many people live in Graz?", "1 row of people.csv", "number of rows · city = Graz · people.csv"),
        (
            "which city does Uma Rao live in?",
            "city: Vienna",
            "city · first name = Uma · last name = Rao · 1 row of people.csv",
        ),
        ("who is the oldest of the people", "1971-05-02", "earliest birthday · people.csv"),
        (
            "whose birthday is in May?",
            "Brandt",
            "first name, last name, birthday · birthday in May 2025 or in May 2026 · 1 row of people.csv",
        ),
    ],
)
def test_figures_and_rows(rule: Tables, question: str, text: str, understood: str) -> None:
    ruled = _answer(rule, question)
    assert ruled.understood == understood
    assert text in ruled.text.splitlines()[0]


def test_a_row_is_named_with_its_columns_and_cited(rule: Tables) -> None:
    ruled = _answer(rule, "What did the optician cost, and who paid it?")
    assert ruled.text.splitlines()[0] == "amount: 64.00 EUR; paid by: Petra."
    assert "Row 6 of flat_costs.csv: day: 2026-05-05; shop: Optician; category: health" in ruled.text
    assert [source.title for source in ruled.sources] == ["flat_costs"]
    assert ruled.items[0].as_json()["cells"]["amount"] == "64.00"
    assert ruled.items[0].as_json()["row"] == 6


def test_two_rows_that_fit_are_both_named(rule: Tables) -> None:
    text = _answer(rule, "what is Anna's mobile number?").text
    assert text.startswith("2 rows of people.csv fit, where first name is Anna:")
    assert "555 7740" in text
    assert "555 7446" in text


def test_two_columns_that_fit_are_both_answered(rule: Tables) -> None:
    text = _answer(rule, "how far did I walk in June").text
    assert text.startswith("The question fits 2 columns or tables.")
    assert "22.7 km: the sum of “distance map (km)”" in text
    assert "23.49 km: the sum of “distance watch (km)”" in text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("how many of the flat costs were paid in francs", "1 row of flat_costs.csv, where currency is CHF."),
        ("how many walks over 10000 m by the map", "2 rows of walks.csv, where distance map (km) is over 10."),
        ("which costs were over 40 EUR", "2 rows of flat_costs.csv fit, where currency is EUR and amount is over 40:"),
        ("how many times before April did we go to Luna", "2 rows of flat_costs.csv"),
        ("how many books did I read?", "2 rows of books.csv, where Read on is filled."),
        ("which book has a rating of 4", "Rating: 4."),
        ("which books are by John Williams", "2 rows of books.csv fit, where Author is John Williams:"),
        ("what is the number of Uma", "mobile: 555 7798."),
        ("who did we pay for the band?", "paid to: Blue Notes"),
        ("who was paid for the soup?", "paid to: several"),
        ("how far have I swum in total?", "4300 m: the sum of “swum” in 3 rows"),
        ("which route was the longest by the map", "hill: 12 km, the greatest “distance map (km)” in walks.csv."),
        ("which gear was cheapest in GBP", "map: 3.00 GBP, the least “price” in gear.csv."),
        ("what is the total of the fees?", "65: the sum of “fee” in 2 rows of members.csv."),
        ("what is the total score", "16: the sum of “total score” in 2 rows of members.csv."),
        ("what did the rope cost?", "price: $18.20; total cost: 36.40."),
        ("what is the total cost of the rope?", "36.40: the sum of “total cost” in 1 row"),
        ("how long did I walk in total in June", "2:01:49: the sum of “time”"),
    ],
)
def test_a_unit_a_day_or_a_number_limits_the_rows(rule: Tables, question: str, text: str) -> None:
    assert _answer(rule, question).text.startswith(text)


def test_currencies_are_not_added(rule: Tables) -> None:
    text = _answer(rule, "how much did we spend on eating out in total").text
    assert "30.50 CHF in 1 row and 20.00 EUR in 1 row" in text
    assert "different currencies" in text
    francs = _answer(rule, "how much did we spend on eating out in francs?").text
    assert francs.startswith("30.50 CHF: the sum of “amount” in 1 row")
    assert "without 20.00 EUR in 1 row" in francs


def test_a_currency_is_the_same_by_its_sign_and_its_code(rule: Tables) -> None:
    text = _answer(rule, "how much did we spend on gear in total").text
    assert text.startswith("15.00 USD in 2 rows and 30.50 EUR in 2 rows and 33.00 GBP in 2 rows: the sum of “price”")
    assert "tent: 20.50 EUR, the greatest “price”" in _answer(rule, "most expensive gear in euros").text


def test_currencies_of_the_prices_beside_are_not_added(rule: Tables) -> None:
    text = _answer(rule, "sum of the total cost in material").text
    assert "36.40 USD in 1 row" in text
    assert "33.00 EUR in 1 row" in text
    assert "59.90 in 1 row" in text
    assert "there is no single sum. The currencies are those of “price”." in text


def test_units_that_convert_are_added_and_said(rule: Tables) -> None:
    text = _answer(rule, "how much from the young tree?").text
    assert text.startswith("2 kg: the sum of “amount” in 2 rows of apples.csv")
    assert "mixed units: 500 g in 1 row and 1.5 kg in 1 row" in text
    assert "different units" in _answer(rule, "total amount of apples").text


def test_cells_without_a_number_are_said(rule: Tables) -> None:
    assert "1 row without a number is left out" in _answer(rule, "total for groceries").text


def test_no_row_is_an_answer_to_a_figure(rule: Tables) -> None:
    assert _answer(rule, "how much did Tomaso pay for health in total?").text.startswith(
        "None: no row of flat_costs.csv"
    )


def test_a_misspelt_word_is_corrected_and_said(rule: Tables) -> None:
    ruled = _answer(rule, "how much did Petra spend on grocries?")
    assert ruled.understood.startswith("sum of amount · category = groceries")
    assert "Read “grocries” as “groceries”." in ruled.text


def test_a_sheet_that_was_read_in_part_says_so(rule: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_SHEETS", frozenset([".csv"]))
    monkeypatch.setattr(sheets, "MOST_ROWS", 6)
    assert "the first 6 rows were read" in _answer(rule, "total for groceries").text
    assert "rows were read" not in _answer(rule, "highest climb").text


def test_a_table_too_long_to_look_through_is_left_to_others(rule: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_ROWS", 5)
    assert _ruled(rule, "total for groceries") is None
    assert _ruled(rule, "highest climb")


def test_filters_narrow_the_tables(rule: Tables) -> None:
    assert _ruled(rule, "in:walks how much did we spend on groceries") is None
    assert _ruled(rule, "in:flat how much did we spend on groceries")


@pytest.mark.parametrize(
    "question",
    [
        "When is the dentist?",
        "what time is it",
        "how many mails did I get in March?",
        "who is Uma?",
        "Uma Rao, who is that",
        "how many health days until may 2027",
        "who told me about the optician",
        "how many days until 25 december",
        "newest entry in my health notes",
        "what did Petra say about health?",
        "how much did we spend on pets",
        "heaviest walk",
        "who paid for the soup?",
        "who paid the most for the carnival",
        "how many markets did we go to",
        "how many people paid for groceries",
        "how many people came to the Corner Market",
        "how many children did groceries",
        "how many guests were at the Corner Market",
        "which apples did we get the most of",
        "why did Petra pay for groceries",
        "how much did we spend per quarter",
        "what share of the flat costs is groceries",
        "could we spend less on groceries?",
        "how did I spend 14 March",
        "did Petra like Luna?",
        "what was the highest climb but one",
        "how much do groceries cost",  # in general
        "what does an optician cost",
        "how much does an optician cost?",
        "how expensive is an optician",
        "what is the price of an optician",
        "total",
        "",
        "🦆",
        "'; DROP TABLE tables; --",
        "x" * 3000,
    ],
)
def test_what_no_table_explains_is_left_to_others(rule: Tables, question: str) -> None:
    if question:
        assert _ruled(rule, question) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("does Uma live in Vienna?", "Yes: city: Vienna"),
        ("Does Uma Rao live in Graz?", "No: no row of people.csv fits"),
        ("did we spend more than 50 euros on health?", "Yes: 64.00 EUR"),
        ("did we spend more than 100 euros on health?", "No: 64.00 EUR"),
        ("Did I ever walk more than 11 km by the map?", "Yes: "),
        ("Did I ever walk more than 13 km by the map?", "No: no row of walks.csv fits"),
    ],
)
def test_yes_and_no(rule: Tables, question: str, text: str) -> None:
    assert _answer(rule, question).text.startswith(text)


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        (
            "how much did we spend on groceries per month",
            ["- 2026-03: 41.20 EUR in 1 row", "- 2026-04: 18.80 EUR in 1 row"],
        ),
        (
            "how much do we spend on groceries on average per month?",
            ["30.00 EUR on average over the 2 months with rows.", "- 2026-03: 41.20 EUR in 1 row", "- 2026-04: 18.80"],
        ),
        ("what's the average per month for groceries", ["30.00 EUR on average over the 2 months with rows."]),
        ("how far do I walk per month on average by the watch", ["16.43 km on average over the 2 months with rows."]),
        ("how much climb do I have per month on average?", ["The average of “climb (m)” by month of “date”"]),
        ("average groceries by paid by", ["- Petra: 41.20 EUR in 1 row", "- Tomaso: 18.80 EUR in 1 row"]),
        ("which month did we spend the most on groceries", ["2026-03: the greatest sum of “amount” by month of “day”"]),
        ("who spent more on groceries, Petra or Tomaso?", ["Petra: the greatest sum of “amount” by “paid by”"]),
        ("how much did I spend on groceries?", ["- Petra: 41.20 EUR in 1 row", "- Tomaso: 18.80 EUR in 1 row"]),
        ("how much more did Petra spend on groceries than Tomaso", ["22.40 EUR: the “amount” by “paid by”"]),
    ],
)
def test_figures_by_group(rule: Tables, question: str, lines: list[str]) -> None:
    text = _answer(rule, question).text
    assert all(line in text for line in lines), text


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("the three longest walks by the map", ["1. distance map (km): 12.0", "2. distance map (km): 10.7"]),
        ("top 2 climbs", ["1. climb (m): 146", "2. climb (m): 112"]),
        ("last 2 walks", ["1. date: 2026-07-04", "2. date: 2026-06-08"]),
        ("how many flat costs except groceries", ["3 rows of flat_costs.csv, where category is not groceries"]),
        ("which books have not been read", ["Read on: empty", "Augustus"]),
        ("unread books", ["Augustus"]),
        ("which tasks have not been billed", ["2 rows of hours.csv fit, where billed is no or empty"]),
        ("hours for Studio Vega in March", ["8.25 hours: the sum of “hours” in 2 rows"]),
        ("flat costs between 30 and 50 EUR", ["41.20"]),
        ("walks of at least 12 km by the map", ["12.0"]),
    ],
)
def test_first_rows_exceptions_and_empty_cells(rule: Tables, question: str, lines: list[str]) -> None:
    text = _answer(rule, question).text
    assert all(line in text for line in lines), text


def test_a_follow_up_is_not_read_without_what_it_follows(rule: Tables) -> None:
    question = Asked(parse("And the longest walk by the map?", NOW.date()), NOW)
    assert rule.answer(question)
    assert rule.answer(replace(question, before="What was the highest climb?")) is None


@given(
    st.lists(
        st.sampled_from(
            re.findall(r"\w+", "how much many total most who paid Anna groceries March over 10 km the last kg")
        ),
        max_size=9,
    )
)
def test_any_words_are_answered_or_left(rule: Tables, words: list[str]) -> None:
    if words:
        _ruled(rule, " ".join(words))


def test_without_tables_there_is_no_answer(tmp_path: Path) -> None:
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    assert _ruled(Tables(store), "how much did we spend on groceries") is None


def test_a_refund_belongs_to_the_sum_and_what_fits_in_part_is_named(rule: Tables) -> None:
    ruled = _answer(rule, "How much did I spend at Rewe?")
    assert ruled.text.startswith("55.0 EUR: the sum of “price” in 3 rows of shopping.csv")
    assert ruled.text.endswith(
        "Money that came back is counted in: “Rewe (return)” (1 row). "
        "Not counted, as only a part of the name fits: “Rewe (credit)” (1 row), “Rewe City” (1 row)."
    )
    assert ruled.understood == "sum of price · market = Rewe or Rewe (return) · 3 rows of shopping.csv"


def test_what_fits_in_part_is_named_even_where_nothing_fits(rule: Tables) -> None:
    ruled = _answer(rule, "How much did I spend at Rewe in March?")
    assert ruled.text.startswith("None: no row of shopping.csv")
    assert ruled.text.endswith("Not counted, as only a part of the name fits: “Rewe City” (1 row).")


@pytest.mark.parametrize(
    ("payee", "total", "refunds"),
    [("Body Shop", "-8 EUR", "“Body Shop (return)” (1 row)"), ("PayPal", "-5 EUR", "")],
)
def test_a_refund_has_the_other_sign(rule: Tables, payee: str, total: str, refunds: str) -> None:
    text = _answer(rule, f"What is the total paid for payee {payee} in the account?").text
    assert text.startswith(total)
    assert (f"Money that came back is counted in: {refunds}" in text) == bool(refunds)
    assert "The Body Shop" in text or "PayPal Credit" in text  # named as not counted


def test_refunds_are_named_in_each_month_and_for_each_of_several(rule: Tables) -> None:
    assert "Money that came back is counted in: “Rewe (return)”" in _answer(rule, "How much at Rewe per month?").text
    several = _answer(rule, "How much did I spend at Rewe and Rewe City?").text
    assert several.startswith("66.0 EUR: the sum of “price” in 4 rows")
    assert "- Rewe: 55.0 EUR in 3 rows" in several


@pytest.mark.parametrize(
    ("question", "first", "lines"),
    [
        ("Did I spend more at Penny or at Kaufhof?", "No: ", ["- Penny: 25 EUR in 2 rows", "- Kaufhof: 30 EUR"]),
        ("Did I spend more at Kaufhof or at Penny?", "Yes: ", ["5 EUR apart"]),
        ("Where did I spend more, Penny or Kaufhof?", "Kaufhof: ", ["- Penny: 25 EUR in 2 rows"]),
        ("Where did I spend less, Penny or Kaufhof?", "Penny: ", ["- Kaufhof: 30 EUR in 1 row"]),
        ("How much more did I spend at Kaufhof than at Penny?", "5 EUR: ", ["- Penny: 25 EUR in 2 rows"]),
        ("Did I spend more than 30 euros at Penny?", "No: 25 EUR", []),
    ],
)
def test_refunds_count_where_names_are_compared(rule: Tables, question: str, first: str, lines: list[str]) -> None:
    text = _answer(rule, question).text
    assert text.startswith(first)
    assert "Money that came back is counted in: “Penny refund” (1 row)." in text
    assert all(line in text for line in lines), text


def test_refunds_are_no_purchases(rule: Tables) -> None:
    assert _answer(rule, "How many rows of the shopping are from Rewe?").text.startswith("2 rows")


@pytest.mark.parametrize("follow_up", ["And in March?", "What about March 2026?", "and in march"])
def test_a_question_is_asked_again_for_other_days(rule: Tables, follow_up: str) -> None:
    before = "How much did I spend on bread in February?"
    ruled = Everyday((rule,)).answer(Asked(parse(follow_up, NOW.date()), NOW, before=before))
    assert ruled
    assert ruled.understood == "price · kind = bread · date in March 2026 · 1 row of shopping.csv"


def test_what_i_spent_is_grouped_as_asked_where_no_column_says_who_paid(rule: Tables) -> None:
    ruled = _answer(rule, "How much did I spend per hobby?")
    assert ruled.understood == "sum of “euros” by hobby · hobbies.csv"


def test_two_words_of_one_thing_are_not_two_rows(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text(
        "date,what,euros\n2026-01-16,Deposit for the Fanali flat,1700\n2026-10-09,Hotel in Lyon,224\n"
        "2026-04-30,Tiles for the hall,300\n"
    )
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "costs.csv"])
    rule = Tables(store)
    assert _ruled(rule, "what is the average price of a flat in Lyon") is None
    both = _ruled(rule, "how much were the deposit and the hotel together")
    assert both
    assert "1924" in both.text
