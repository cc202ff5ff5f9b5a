"""Settings in layers: which layer wins, which values are valid, and the messages for invalid ones."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from shared.errors import ExitCode, SettingError
from shared.settings import File, Layer, Origin, declared, find, resolve


@dataclass(frozen=True, slots=True)
class Oven:
    """Example settings of an oven."""

    degrees: Annotated[int, Meta(ge=0, le=300, description="How hot.")] = 180
    humidity: Annotated[float, Meta(ge=0, description="How moist.")] = 0.5
    fan: Annotated[bool, Meta(description="Whether air moves.")] = False
    mode: Annotated[Literal["top", "bottom"], Meta(description="Where heat comes from.")] = "top"
    racks: Annotated[Annotated[int, Meta(ge=0, le=4)] | Literal["auto"], Meta(description="How many are used.")] = 0


@dataclass(frozen=True, slots=True)
class Cake:
    """Example settings of a cake."""

    name: Annotated[str, Meta(min_length=1, description="What it is called.")] = "plain"


@dataclass(frozen=True, slots=True)
class Kitchen:
    """Example settings, with two sections."""

    oven: Oven = Oven()
    cake: Cake = Cake()


FILE = "[oven]\ndegrees = 1\n"
ENVIRONMENT = {"JACKDAW_OVEN_DEGREES": "2"}
FLAGS = {"oven.degrees": 3}


@pytest.mark.parametrize(
    ("file", "environment", "flags", "value", "origin"),
    [
        ("", {}, {}, 180, Origin(Layer.DEFAULT, "default")),
        (FILE, {}, {}, 1, Origin(Layer.FILE, "a.toml")),
        (FILE, ENVIRONMENT, {}, 2, Origin(Layer.ENVIRONMENT, "JACKDAW_OVEN_DEGREES")),
        (FILE, ENVIRONMENT, FLAGS, 3, Origin(Layer.FLAG, "--degrees")),
        ("", ENVIRONMENT, {}, 2, Origin(Layer.ENVIRONMENT, "JACKDAW_OVEN_DEGREES")),
        (FILE, {}, FLAGS, 3, Origin(Layer.FLAG, "--degrees")),
        (FILE, {"JACKDAW_OVEN_DEGREES": ""}, {"oven.degrees": None}, 1, Origin(Layer.FILE, "a.toml")),
        ("oven.degrees = 4", {}, {}, 4, Origin(Layer.FILE, "a.toml")),
        ("", {"OTHER_OVEN_DEGREES": "9", "JACKDAW_HOME": "/"}, {}, 180, Origin(Layer.DEFAULT, "default")),
    ],
)
def test_the_higher_layer_wins_and_is_remembered(
    file: str, environment: dict[str, str], flags: dict[str, object], value: int, origin: Origin
) -> None:
    resolved = resolve(
        Kitchen, file=File("a.toml", file), environment=environment, flags=flags, not_settings=("JACKDAW_HOME",)
    )
    assert resolved.settings.oven.degrees == resolved.value("oven.degrees") == value
    assert resolved.origins["oven.degrees"] == origin
    assert resolved.origins["cake.name"].layer is Layer.DEFAULT


def test_without_any_layer_the_defaults_are_in_force() -> None:
    assert resolve(Kitchen).settings == Kitchen()


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("JACKDAW_OVEN_DEGREES", "7", 7),
        ("JACKDAW_OVEN_HUMIDITY", "1", 1.0),
        ("JACKDAW_OVEN_FAN", "true", True),
        ("JACKDAW_OVEN_FAN", "0", False),
        ("JACKDAW_OVEN_MODE", "bottom", "bottom"),
        ("JACKDAW_OVEN_RACKS", "auto", "auto"),
        ("JACKDAW_OVEN_RACKS", "3", 3),
        ("JACKDAW_CAKE_NAME", "12", "12"),
    ],
)
def test_a_variable_is_read_as_its_settings_type(variable: str, text: str, value: object) -> None:
    resolved = resolve(Kitchen, environment={variable: text})
    key = next(key for key, setting in declared(Kitchen).items() if setting.variable == variable)
    assert resolved.value(key) == value
    assert type(resolved.value(key)) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('# warm\n[oven]\n\ndegrees = "5"', "oven.degrees cannot be '5' (a.toml, line 4). It takes a whole number"),
        ("[oven]\ndegrees = 301", "a.toml, line 2). It takes a whole number from 0 to 300."),
        ("[oven]\ndegrees = 1.5", "oven.degrees cannot be 1.5"),
        ("[oven]\ndegrees = true", "oven.degrees cannot be True"),
        ("[oven]\nhumidity = nan", "It takes a number, 0 or more."),
        ("[oven]\nfan = 1", "It takes true or false."),
        ('[oven]\nmode = "side"', "It takes top or bottom."),
        ("[oven]\nracks = 5", "oven.racks cannot be 5 (a.toml, line 2). It takes a whole number from 0 to 4 or auto."),
        ("[oven]\nracks = true", "oven.racks cannot be True"),
        ('[cake]\nname = ""', "It takes a text, not empty."),
        ("[cake.name]\nx = 1", "cake.name cannot be"),
        ("[oven]\ndegree = 5", "There is no setting oven.degree (a.toml, line 2). Did you mean oven.degrees?"),
        ("degrees = 5", "There is no setting degrees (a.toml, line 1). Did you mean oven.degrees?"),
        ("oven = 5", "There is no setting oven (a.toml, line 1)."),
        ("[zzz]\nqqq = 5", "There is no setting zzz.qqq (a.toml, line 2). `jackdaw config docs` lists all settings."),
        ("[oven]\ndegrees == 5", "a.toml is not valid TOML: "),
        ("[oven]\nfan = true\nfan = true", "a.toml is not valid TOML: "),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        resolve(Kitchen, file=File("a.toml", text))
    assert message in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE


def test_broken_toml_is_told_with_its_line() -> None:
    with pytest.raises(SettingError, match="line 2"):
        resolve(Kitchen, file=File("a.toml", "[oven]\ndegrees = = 5\n[cake]\n"))


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"JACKDAW_OVEN_DEGREES": "hot"}, "oven.degrees cannot be 'hot' (JACKDAW_OVEN_DEGREES)"),
        ({"JACKDAW_OVEN_DEGREE": "5"}, "JACKDAW_OVEN_DEGREE (environment). Did you mean JACKDAW_OVEN_DEGREES?"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        resolve(Kitchen, environment=environment)
    assert message in str(caught.value)


def test_a_flag_out_of_limits_names_the_flag() -> None:
    with pytest.raises(SettingError, match="--degrees"):
        resolve(Kitchen, flags={"oven.degrees": -1})


def test_finding_an_unknown_key_names_the_nearest() -> None:
    assert find(declared(Kitchen), "cake.name").default == "plain"
    with pytest.raises(SettingError, match=r"Did you mean cake\.name\?"):
        find(declared(Kitchen), "cake.nam")


@given(degrees=st.integers(0, 300), humidity=st.floats(0, allow_nan=False), fan=st.booleans())
def test_what_fits_survives_the_environment_unchanged(degrees: int, humidity: float, fan: bool) -> None:
    environment = {
        "JACKDAW_OVEN_DEGREES": str(degrees),
        "JACKDAW_OVEN_HUMIDITY": repr(humidity),
        "JACKDAW_OVEN_FAN": str(fan),
    }
    assert resolve(Kitchen, environment=environment).settings.oven == Oven(degrees, humidity, fan)


@given(st.text())
def test_no_file_brings_anything_but_settings_or_a_setting_error(text: str) -> None:
    try:
        resolved = resolve(Kitchen, file=File("a.toml", text))
    except SettingError as error:
        assert "a.toml" in str(error)
    else:
        assert set(resolved.origins) == set(declared(Kitchen))
