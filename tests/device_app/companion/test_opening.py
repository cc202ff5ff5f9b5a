"""How the parts for a companion server are built from the settings and the sensors."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from device_app.companion.dispatch.day import DayLimits, DaySpent
from device_app.companion.dispatch.public import PublicQuestions
from device_app.companion.dispatch.situation import HeatLimits
from device_app.companion.link.credentials import Credentials
from device_app.companion.opening import public_questions
from device_app.settings import Daemon, Link, Settings
from device_app.system import conditions
from device_app.system.conditions import Conditions, Sensors
from shared.prompt import turn
from storage.paths import HOME_VARIABLE, Paths
from tests.devices import fake_device

FAR, HERE = "wss://home.example:8765/", "ws://127.0.0.1:8765/"


@pytest.fixture
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    return Paths.locate({HOME_VARIABLE: str(tmp_path_factory.mktemp("home"))})


@pytest.fixture(autouse=True)
def sensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device on battery, and a metered network."""
    monkeypatch.setattr(conditions, "WAIT_S", 60)
    monkeypatch.setattr(Sensors, "power", lambda _: Conditions(on_mains=False, battery_percent=50))
    monkeypatch.setattr("device_app.system.network.metered", lambda: True)


@contextmanager
def opened(paths: Paths, url: str, link: Link, daemon: Daemon | None = None) -> Iterator[PublicQuestions]:
    settings = replace(Settings(), link=link, daemon=daemon or Daemon())
    with fake_device(paths, settings) as device:
        yield public_questions(device, Credentials(url, "token"))


@pytest.mark.parametrize(
    ("url", "setting", "is_metered"),
    [
        (FAR, "auto", True),
        (HERE, "auto", False),
        (FAR, "no", False),
        (FAR, "yes", True),
        (HERE, "yes", True),
    ],
)
def test_whether_the_network_is_metered(url: str, setting: str, is_metered: bool, paths: Paths) -> None:
    with opened(paths, url, Link(metered=setting, price_mb=0.01)) as public:  # type: ignore[arg-type]
        weighed = public.weighed("Where does the Danube end?", 100)
        assert weighed.is_metered is is_metered
        assert (weighed.costs.server_decode > 0) is is_metered
        assert weighed.exchange.per_joule == pytest.approx(2 * 0.3 / 3.6e6)


def test_a_phone_whose_network_says_nothing_is_not_metered(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("device_app.system.network.metered", lambda: None)
    with opened(paths, FAR, Link()) as public:
        assert not public.weighed("Where does the Danube end?", 100).is_metered


def test_a_request_without_passages_is_weighed_by_the_length_that_its_budget_is_charged(paths: Paths) -> None:
    text = "Write a poem about the sea and the wind"
    with opened(paths, HERE, Link()) as public:
        source = public.source()
        length = source.count(turn(text, source.template))
        assert public.weighed(text, 100, model_only=True).prompt == length
        assert public.weighed(text, 100).prompt > length  # as long as usual with passages


def test_the_settings_reach_the_dispatch(paths: Paths) -> None:
    link = Link(day_joules=100, day_money=2, policy="paper")
    with opened(paths, HERE, link, Daemon(battery_temperature=35, temperature=70)) as public:
        assert (public.prices.day, public.prices.policy) == (DayLimits(100, 2), "paper")
        assert public.prices.limits == HeatLimits(35, 70)
        public.days.add(150, 0.5)
        weighed = public.weighed("Where does the Danube end?", 100)
        assert (weighed.policy, set(weighed.used_up)) == ("paper", {"device"})
        assert weighed.decisions()[0].reason.startswith("the server alone: today's 100 joules")
    with opened(paths, HERE, Link()) as public:
        assert public.days.spent() == DaySpent(public.days.today().isoformat(), 150, 0.5)
        assert not public.weighed("Where does the Danube end?", 100).used_up
