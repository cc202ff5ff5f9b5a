"""`jackdaw why` explains how an answer would be made, or how the last one was made.

Nothing is sent to the server for it.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from device_app.companion import opening
from device_app.companion.dispatch.day import Days
from device_app.companion.dispatch.memory import Held, Memory
from device_app.companion.dispatch.profile import Profile
from device_app.companion.dispatch.situation import TOKEN_BYTES
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from device_app.question.abstention import NOT_TOLD
from device_app.system.conditions import Conditions, Sensors
from shared.prompt import NOT_FOUND
from storage.conversations import ConversationStore
from storage.database import Database
from storage.paths import Paths
from tests.companion import Serve, Served, serve

__all__ = ["serve"]

QUESTION = "Who has borrowed the blue drill?"
DANUBE = "Which countries does the Danube flow through, and where?"
KENYA = "Which mountain of Africa is its second highest?"

pytestmark = pytest.mark.usefixtures("without_weights")


POWER = Sensors.power
"""The real function that reads the power sensors; tests of the command line replace it by a fake."""


@pytest.fixture
def connected(notes: Path, paths: Paths, serve: Serve) -> Served:
    served = serve()
    credentials.save(paths.link, Credentials(served.url, served.token()))
    return served


def explained(jackdaw: Any, *question: str) -> Any:
    return json.loads(jackdaw("why", *question, "--json").out)


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_kept_answer_serves_until_its_files_change(jackdaw: Any, notes: Path) -> None:
    jackdaw("ask", QUESTION)
    explanation = explained(jackdaw, QUESTION)
    assert (explanation["road"], explanation["similar"][0]["serves"], explanation["passages"][0]["kept"]) == (
        "kept",
        True,
        True,
    )
    assert "A saved answer would be used" in jackdaw("why", *QUESTION.split()).out
    (notes / "drill.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
    jackdaw("add")
    explanation = explained(jackdaw, QUESTION)
    assert (explanation["road"], explanation["similar"][0]["reason"]) == (
        "files",
        "the answer's files have changed since",
    )
    assert not explanation["passages"][0]["kept"]
    shown = words(jackdaw("why", QUESTION).out)
    assert f"1.00 {QUESTION} cannot be used: the answer's files have changed since" in shown
    assert shown.endswith("From Things lent to be read by the model")


def test_what_would_be_quoted_is_told(jackdaw: Any, notes: Path) -> None:
    question = "What was said about the blue drill?"
    explanation = explained(jackdaw, question)
    assert (explanation["road"], explanation["quoted"], [message["kept"] for message in explanation["passages"]]) == (
        "files",
        True,
        [False],
    )
    shown = words(jackdaw("why", question).out)
    assert shown.startswith("The answer is quoted on this device, from your own files; nothing is sent.")
    assert shown.endswith("From Things lent to be quoted")
    assert not explained(jackdaw, QUESTION)["quoted"]


def test_what_the_files_lack_is_told_and_how_it_would_be_had(
    jackdaw: Any, notes: Path, connected: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "rowed.md").write_text("We rowed on the Danube through Vienna in May.")
    jackdaw("add", str(notes))
    question = "Through which European countries does the Danube flow, where we rowed?"
    explanation = explained(jackdaw, question)
    assert (explanation["road"], explanation["beyond"]["plan"]) == ("both", "fetch")
    assert explanation["beyond"]["reason"] == "your files say nothing of “european” and “countries” and “flow”"
    shown = words(jackdaw("why", question).out)
    assert "the question is sent, and this device writes from both sides' passages" in shown
    assert explained(jackdaw, QUESTION)["beyond"] is None
    explanation = words(jackdaw("why", QUESTION).out)
    assert "from your own files; the question is sent if your files turn out not to answer it." in explanation
    assert "; nothing is sent." in words(jackdaw("why", f"in:notes {QUESTION}").out)
    monkeypatch.setenv("JACKDAW_LINK_TOGETHER", "asked")
    explanation = explained(jackdaw, question)
    assert (explanation["road"], explanation["beyond"]["plan"]) == ("files", "alone")
    assert "link.together = asked" in explanation["beyond"]["why"]
    shown = words(jackdaw("why", question).out)
    assert "from your own files; nothing is sent." in shown
    assert "with link.together = asked, nothing is sent" in shown
    monkeypatch.setenv("JACKDAW_LINK_TOGETHER", "fitting")
    monkeypatch.setattr("device_app.companion.dispatch.aggregating.WORTH", 100.0)
    assert (explained(jackdaw, question)["road"], explained(jackdaw, question)["beyond"]["plan"]) == (
        "both",
        "together",
    )
    assert not connected.server.sessions.all(), "nobody was asked"


@pytest.mark.parametrize(
    ("temperature", "privacy", "setting", "way", "free", "said"),
    [
        ("0", "open", "server", "device", False, "this device settles each token. There is nothing to choose"),
        ("0.7", "drafts", "server", "both", False, "both sides settle each token. There is nothing to choose"),
        ("0.7", "open", "auto", "both", True, "as that is forecast to be fastest (link.aggregation = auto)"),
        ("0.7", "open", "server", "server", True, "the server settles each token (link.aggregation = server)"),
        ("0.7", "open", "scheduled", "scheduled", True, "the side that delays the answer less"),
    ],
)
def test_who_would_settle_the_tokens_of_both_sides_is_told_with_its_forecast(
    jackdaw: Any,
    notes: Path,
    connected: Served,
    monkeypatch: pytest.MonkeyPatch,
    temperature: str,
    privacy: str,
    setting: str,
    way: str,
    free: bool,
    said: str,
) -> None:
    (notes / "rowed.md").write_text("We rowed on the Danube through Vienna in May.")
    jackdaw("add", str(notes))
    for name, value in (("ANSWER_TEMPERATURE", temperature), ("LINK_PRIVACY", privacy), ("LINK_AGGREGATION", setting)):
        monkeypatch.setenv(f"JACKDAW_{name}", value)
    question = "Through which European countries does the Danube flow, where we rowed?"
    settled = explained(jackdaw, question)["beyond"]["aggregation"]
    assert (settled["way"], settled["free"], settled["learned_from"]) == (way, free, 0)
    assert set(settled["token_s"]) == ({"both", "device", "server", "scheduled"} if free else {way})
    assert settled["speedup"] >= 1
    shown = words(jackdaw("why", question).out)
    assert said in shown
    assert ("(as in equation 9)" if way == "both" else "(equation 9)") in shown
    assert ("(forecast, equation 7)" in shown) is (way != "both")
    assert ("otherwise: " in shown) is free


def test_an_older_server_leaves_nothing_to_choose_and_it_says_so(
    jackdaw: Any, notes: Path, paths: Paths, connected: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "rowed.md").write_text("We rowed on the Danube through Vienna in May.")
    jackdaw("add", str(notes))
    Memory(paths.dispatch).hold(Held(profile=Profile(offered=frozenset())))
    for name, value in (("ANSWER_TEMPERATURE", "1"), ("LINK_PRIVACY", "open"), ("LINK_AGGREGATION", "scheduled")):
        monkeypatch.setenv(f"JACKDAW_{name}", value)
    question = "Through which European countries does the Danube flow, where we rowed?"
    settled = explained(jackdaw, question)["beyond"]["aggregation"]
    assert (settled["way"], settled["free"]) == ("both", False)
    assert "the server's version offers no other way" in words(jackdaw("why", question).out)


@pytest.mark.parametrize("server", [False, True])
def test_of_a_question_that_the_files_did_not_answer_it_promises_no_answer_from_them(
    jackdaw: Any, notes: Path, request: pytest.FixtureRequest, server: bool
) -> None:
    (notes / "drill.md").write_text(f"# Things lent\n\nWho has borrowed the blue drill?\n\n{NOT_FOUND}\n")
    jackdaw("add")
    jackdaw("ask", QUESTION)
    if server:
        request.getfixturevalue("connected")
    shown = words(jackdaw("why", QUESTION).out)
    sent = "the question is sent if your files turn out not to answer it." if server else "nothing is sent."
    expected = f"The question is tried again on this device, with your own files; {sent}"
    assert shown.startswith(f"{expected} The last time, the question could not be answered: {NOT_TOLD} ")
    assert f"1.00 {QUESTION} cannot be used: the question could not be answered" in shown
    assert explained(jackdaw, QUESTION)["road"] == "files"
    (notes / "lent.md").write_text(f"# Lent\n\n{QUESTION} Petra has borrowed the blue drill, the blue drill.\n")
    jackdaw("add")
    assert jackdaw("cache", "warm", QUESTION).code == 0
    assert "A saved answer would be used" in jackdaw("why", QUESTION).out


def test_no_more_than_the_nearest_kept_answers_are_shown(jackdaw: Any, notes: Path) -> None:
    for asked in ("Who has the drill?", "Who has my drill?", "Who has our drill?", "Who has that drill?", QUESTION):
        jackdaw("ask", "--fresh", asked)
    assert len(explained(jackdaw, QUESTION)["similar"]) > 3
    shown = words(jackdaw("why", QUESTION).out)
    assert (shown.count("be used: "), f"1.00 {QUESTION}" in shown) == (3, True)


def test_it_looks_at_the_path_that_would_be_used(jackdaw: Any, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_ANSWER_ARRANGEMENT", "prompt")
    monkeypatch.setenv("JACKDAW_ANSWER_PASSAGES", "2")
    (notes / "saw.md").write_text("# The saw\n\nAnton has borrowed the blue saw, the drill is with Petra.\n")
    jackdaw("add")
    jackdaw("ask", QUESTION)
    assert [passage["kept"] for passage in explained(jackdaw, QUESTION)["passages"]] == [True, True]
    # The second passage's states are kept after the first's, so that a prompt with it alone cannot use them.
    monkeypatch.setenv("JACKDAW_ANSWER_PASSAGES", "1")
    explanation = [explained(jackdaw, question) for question in (f"in:drill.md {QUESTION}", f"in:saw.md {QUESTION}")]
    assert sorted(passage["kept"] for each in explanation for passage in each["passages"]) == [False, True]


def test_where_nothing_is_found_it_says_what_to_do(jackdaw: Any) -> None:
    outcome = jackdaw("why", DANUBE)
    assert outcome.code == 3
    assert "jackdaw add ~/Documents" in outcome.out
    assert "jackdaw connect URL" in outcome.out
    assert "no answer is saved yet" in outcome.out


@pytest.mark.parametrize(
    ("spare", "allowed", "question", "road", "not_asked"),
    [
        ("-1", "true", DANUBE, "server", ""),
        ("-1", "true", QUESTION, "files", ""),
        ("-1", "false", DANUBE, "nothing", "as link.allowed is off"),
        (
            "-1",
            "true",
            f"in:nowhere {DANUBE}",
            "nothing",
            "nothing that was read.\nA question with filters",
        ),
    ],
)
def test_a_road_is_told_and_the_server_hears_nothing(
    spare: str,
    allowed: str,
    question: str,
    road: str,
    not_asked: str,
    connected: Served,
    jackdaw: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", allowed)
    monkeypatch.setattr(opening, "open_link", lambda *_: pytest.fail("it dialled"))
    explanation = explained(jackdaw, question)
    assert (explanation["road"], explanation["public"] is not None) == (road, road == "server")
    assert not_asked in explanation["not_asked"]
    assert len(connected.server.sessions) == 0


@pytest.mark.parametrize(
    ("spare", "spared", "device_after_s", "server_after_s"),
    [("0", "device", None, 0.0), ("1", "server", 0.0, None), ("0.5", "server", 0.0, 0.0)],
)
def test_the_plan_follows_the_setting(
    spare: str,
    spared: str,
    device_after_s: float | None,
    server_after_s: float | None,
    connected: Served,
    jackdaw: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_SPARE", spare)
    monkeypatch.setenv("JACKDAW_LINK_PRICE_ANSWER", "10")
    plan = explained(jackdaw, DANUBE)["public"]
    (decision,) = plan["decisions"]
    assert (plan["spared"], plan["learned_from"]) == (spared, 0)
    assert (decision["device_after_s"], decision["server_after_s"]) == (device_after_s, server_after_s)
    for side in ("device", "server"):
        assert 0 < plan["first_token_s"][side]["usual"] <= plan["first_token_s"][side]["late"]
    assert plan["costs"]["server"]["decode"] == pytest.approx(1e-5)
    assert plan["energy"] == {"joules_per_gflop": 0.1, "measured": 0.0, "stretches": 0}
    assert plan["exchange_rate"]["per_joule"] == pytest.approx(0.3 / 3.6e6)
    shown = words(jackdaw("why", DANUBE).out)
    assert shown.index("Who begins") < shown.index("Saved answers")
    assert "in your currency" in shown
    assert "0.1 joules for 10^9 operations, as set by daemon.joules_per_gflop" in shown
    assert decision["reason"] in shown
    assert "default values, as" in shown


@pytest.mark.parametrize(
    ("conditions", "times", "spared", "said"),
    [
        (Conditions(on_mains=True), 0, "server", "a joule costs nothing, as the device runs on mains power"),
        (Conditions(on_mains=False, battery_percent=50), 2, "device", "2.0 times link.price_kwh, on a battery at 50%"),
        (Conditions(), 1, "device", "as set by link.price_kwh, as no battery is known"),
    ],
)
def test_the_plan_follows_the_power(
    conditions: Conditions,
    times: float,
    spared: str,
    said: str,
    connected: Served,
    jackdaw: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Sensors, "power", lambda _: conditions)
    plan = explained(jackdaw, DANUBE)["public"]
    assert plan["exchange_rate"]["per_joule"] == pytest.approx(times * 0.3 / 3.6e6)
    assert plan["spared"] == spared
    shown = words(jackdaw("why", DANUBE).out)
    assert said in shown
    assert (f"a joule costs {times * 0.3 / 3.6e6:.2g} in your currency: " in shown) is bool(times)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('{"percentage": 34, "plugged": "UNPLUGGED"}', "2.9 times link.price_kwh, on a battery at 34%"),
        ('{"percentage": 34, "plugged": "PLUGGED_AC"}', "nothing, as the device runs on mains power"),
        ('{"percentage": 250, "plugged": "UNPLUGGED"}', "1.0 times link.price_kwh, on a battery of unknown charge"),
        ("nonsense", "as set by link.price_kwh, as no battery is known"),
    ],
)
def test_what_a_phone_says_of_its_power_decides_what_a_joule_costs(
    said: str, shown: str, connected: Served, jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sensors, "power", POWER)
    monkeypatch.setattr("device_app.system.conditions._processor_c", lambda: None)
    command = tmp_path / "termux-battery-status"
    command.write_text(f"#!/bin/sh\necho '{said}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert explained(jackdaw, DANUBE)["public"]["exchange_rate"]["reason"] == shown


@pytest.mark.parametrize(
    ("joules", "money", "said", "used_up"),
    [
        ("9", "0", "the server alone: today's 9 joules (link.day_joules) are used up", {"device"}),
        ("0", "0.5", "the device alone: today's 0.5 in your currency (link.day_money) is used up", {"server"}),
        ("9", "0.5", "(link.day_money) is used up; today's 9 joules (link.day_joules) are used", {"device", "server"}),
        ("1000", "9", "", set()),
    ],
)
def test_a_used_up_budget_of_the_day_decides_instead_of_the_policy(
    joules: str,
    money: str,
    said: str,
    used_up: set[str],
    connected: Served,
    jackdaw: Any,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_DAY_JOULES", joules)
    monkeypatch.setenv("JACKDAW_LINK_DAY_MONEY", money)
    Days(paths.dispatch_spent).add(10, 1)
    plan = explained(jackdaw, DANUBE)["public"]
    assert set(plan["used_up"]) == used_up
    shown = words(jackdaw("why", DANUBE).out)
    assert said in shown
    assert ("Policy ours: does not apply, as a used-up budget of the day" in shown) is bool(used_up)


@pytest.mark.parametrize(
    ("policy", "spare", "figures", "rule"),
    [
        ("ours", "0.25", {"least_saved_s_per_1000_tokens"}, "Policy ours: the device starts when that saves the most"),
        ("ours", "0.75", {"least_saved_s_per_1000_tokens"}, "Policy ours: the server starts when that saves the most"),
        ("paper", "0.25", {"at_once_below_tokens", "tail_wait_s"}, "Policy DiSCo’s: the device starts at once for"),
        ("paper", "0.75", {"server_from_tokens"}, "Policy DiSCo’s: the server is asked at once for prompts of"),
        ("paper", "0", set(), "Policy DiSCo’s: the device never starts while the other side answers"),
    ],
)
def test_the_policy_in_force_shows_its_thresholds(
    policy: str,
    spare: str,
    figures: set[str],
    rule: str,
    connected: Served,
    jackdaw: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("POLICY", policy), ("SPARE", spare), ("PRICE_ANSWER", "10")):
        monkeypatch.setenv(f"JACKDAW_LINK_{name}", value)
    plan = explained(jackdaw, DANUBE)["public"]
    assert (plan["policy"]["name"], set(plan["policy"]["figures"])) == (policy, figures)
    assert rule in words(jackdaw("why", DANUBE).out)


@pytest.mark.parametrize(
    ("setting", "said", "metered"),
    [("auto", None, False), ("auto", True, False), ("no", True, False), ("yes", None, True)],
)
def test_a_metered_network_makes_the_server_cost(
    setting: str, said: bool | None, metered: bool, connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metered traffic has a price.

    Traffic to this machine itself crosses no network, so that with `auto` the system is not asked.
    """
    monkeypatch.setattr("device_app.system.network.metered", lambda: said)
    monkeypatch.setenv("JACKDAW_LINK_METERED", setting)
    plan = explained(jackdaw, DANUBE)["public"]
    assert plan["metered"] is metered
    assert plan["costs"]["server"]["decode"] == pytest.approx(TOKEN_BYTES * 0.005 / 1e6 if metered else 0.0)
    assert ("Network metered: a token" in words(jackdaw("why", DANUBE).out)) is metered


def test_what_may_name_files_is_promised_to_no_server_and_says_why(connected: Served, jackdaw: Any) -> None:
    question = "folder: taxes where does the Danube end?"
    said = explained(jackdaw, question)
    assert (said["road"], said["public"]) == ("nothing", None)
    assert "may name a filter, file or folder of yours" in said["not_asked"]
    assert "may name a filter" in words(jackdaw("why", question).out)


def test_a_move_that_pays_is_told_with_its_moment(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_PRICE_ANSWER", "1000")
    moves = explained(jackdaw, DANUBE)["public"]["moves"]
    assert (moves["server"]["pays"], moves["device"]["pays"]) == (True, False)
    assert moves["server"]["after_tokens"] > 0
    after = moves["server"]["after_tokens"]
    shown = words(jackdaw("why", DANUBE).out)
    assert f"moves to the other side after {after} tokens: the device writes the rest" in shown


def test_the_last_answer_is_explained(connected: Served, jackdaw: Any) -> None:
    asked = json.loads(jackdaw("ask", DANUBE, "--json").out)
    explanation = explained(jackdaw)
    assert (explanation["question"], explanation["complete"], explanation["origin"]) == (DANUBE, True, asked["origin"])
    assert explanation["trace"]["decided"] == asked["trace"]["decided"]
    shown = words(jackdaw("why").out)
    for reason in asked["trace"]["decided"]:
        assert words(reason) in shown
    basis = explanation["trace"]["dispatch"]
    assert f"Policy ours: {basis['policy']['rule']} (link.policy)" in shown
    assert basis["exchange_rate"]["reason"] in shown
    assert "1 passage of the server" in shown
    assert f"{asked['egress']['bytes']:,} bytes: the question" in shown
    assert explained(jackdaw, DANUBE)["road"] == "kept"
    assert explained(jackdaw, KENYA)["public"]["learned_from"] == 1
    jackdaw("ask", QUESTION)
    assert "on this device, from 1 passage of your own, with fake" in words(jackdaw("why").out)
    assert words(jackdaw("why").out).endswith("Left the device nothing")
    jackdaw("ask", QUESTION)
    assert f"with a saved answer: “{QUESTION}” (1.00)" in words(jackdaw("why").out)
    jackdaw("ask", f"in:drill.md {DANUBE}")
    assert "I found nothing" in jackdaw("why").out


def test_before_the_first_question_it_teaches(jackdaw: Any) -> None:
    outcome = jackdaw("why")
    assert outcome.code == 3
    assert "Nothing has been asked yet." in outcome.out
    assert 'jackdaw why "…"' in outcome.out
    assert explained(jackdaw) == {"question": None}


def test_an_answer_that_was_broken_off_is_not_explained(jackdaw: Any) -> None:
    paths = Paths.locate(os.environ)
    paths.create()
    database = Database(paths.database)
    ConversationStore(database).begin(QUESTION)
    database.close()
    assert explained(jackdaw)["complete"] is False
    assert "only complete answers are explained" in jackdaw("why").out


def test_a_request_that_needs_no_file_is_explained_as_such(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = explained(jackdaw, "Write a poem about tea")
    assert (explanation["road"], explanation["model_only"]) == ("nothing", True)
    assert "is too small" in explanation["not_asked"]
    monkeypatch.setenv("JACKDAW_MODEL_NAME", "smollm2-1.7b")
    explanation = explained(jackdaw, "Write a poem about tea")
    assert (explanation["road"], explanation["model_only"], explanation["similar"]) == ("model", True, [])
    assert "the model of this device writes the answer alone" in jackdaw("why", "Write a poem about tea").out


def test_why_a_request_without_files_would_leave_or_stay(jackdaw: Any, connected: Served) -> None:
    explanation = explained(jackdaw, "Write a poem about tea")
    assert (explanation["road"], explanation["model_only"]) == ("server", True)
    assert 30 < explanation["public"]["prompt_tokens"] < 60  # with the chat template
    assert [decision["device_after_s"] for decision in explanation["public"]["decisions"]] == [None]  # it is too small
    assert "The request is sent if the server writes" in jackdaw("why", "Write a poem about tea").out
    stays = explained(jackdaw, "Write a poem about the drill of Petra")
    assert stays["road"] == "nothing"
    assert "may name a person" in stays["not_asked"]
    assert stays["beyond"] is None  # the files are not read for it, so they lack nothing
