"""`jackdaw config` shows, explains and changes settings, and repairs a settings file with errors."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.settings import SETTINGS, Settings, load
from device_app.settings.schema import RETIRED
from shared.errors import SettingError
from shared.settings import File, Layer, Setting, Value, resolve
from shared.settings_file import assigned, removed
from storage.paths import Paths

BROKEN = {
    "not TOML": "[answer\nmax_tokens = ",
    "not UTF-8": b"[answer]\nname = '\xff'".decode("latin-1"),
    "unknown key": "[answer]\nmax_token = 5\n",
    "wrong value": "[answer]\nmax_tokens = 'many'\n",
}


def write(paths: Paths, text: str) -> None:
    paths.create()
    paths.config_file.write_text(text, encoding="latin-1")


def test_every_setting_is_listed_with_where_it_came_from(
    jackdaw: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(paths, "[answer]\nmax_tokens = 77\n")
    monkeypatch.setenv("JACKDAW_MODEL_THREADS", "3")
    listed = {fact["key"]: fact for fact in json.loads(jackdaw("config", "--json").out)["settings"]}
    assert list(listed) == list(SETTINGS)
    assert (listed["answer.max_tokens"]["value"], listed["answer.max_tokens"]["origin"]) == (77, "file")
    assert (listed["model.threads"]["value"], listed["model.threads"]["place"]) == (3, "JACKDAW_MODEL_THREADS")
    assert listed["model.kv"]["origin"] == "default"
    assert jackdaw("config").out == jackdaw("config", "list").out
    assert "77" in jackdaw("config").out


@pytest.mark.parametrize("key", SETTINGS)
def test_every_default_fits_its_own_limits_and_is_documented(key: str) -> None:
    setting = SETTINGS[key]
    msgspec.convert(setting.default, setting.type, strict=True)
    assert resolve(Settings, environment={setting.variable: str(setting.default)}).value(key) == setting.default
    assert setting.description.endswith(".")


@pytest.mark.parametrize("key", ["price_prompt", "price_answer", "price_kwh", "price_mb", "day_joules", "day_money"])
@pytest.mark.parametrize("value", ["nan", "-1", "-0.01", "inf", "1e999", "free"])
def test_a_price_or_budget_that_is_no_amount_is_refused(key: str, value: str, jackdaw: Any, paths: Paths) -> None:
    outcome = jackdaw("config", "set", f"link.{key}", "--", value)
    assert outcome.code != 0
    assert f"link.{key} cannot be" in outcome.err
    assert "It takes a number from 0 to 1,000,000" in outcome.err
    with pytest.raises(SettingError, match=f"link.{key} cannot be"):
        load(paths, {f"JACKDAW_LINK_{key.upper()}": value})
    assert jackdaw("config", "set", f"link.{key}", "0").code == 0


def test_docs_explain_every_setting(jackdaw: Any) -> None:
    report = json.loads(jackdaw("config", "docs", "--json").out)
    assert [fact["key"] for fact in report["settings"]] == list(SETTINGS)
    text = jackdaw("config", "docs").out
    assert all(setting.variable in text and setting.description in text for setting in SETTINGS.values())


def test_set_get_unset(jackdaw: Any, paths: Paths) -> None:
    assert jackdaw("config", "set", "answer.evidence", "false").out == "answer.evidence = false\n"
    assert jackdaw("config", "get", "answer.evidence").out == "false\n"
    assert json.loads(jackdaw("config", "get", "answer.evidence", "--json").out) == {
        "key": "answer.evidence",
        "value": False,
        "origin": "file",
        "place": str(paths.config_file),
    }
    assert jackdaw("config", "unset", "answer.evidence").code == 0
    assert jackdaw("config", "get", "answer.evidence").out == "true\n"
    assert jackdaw("config", "unset", "answer.evidence").code == 3


def test_set_writes_a_private_file(jackdaw: Any, paths: Paths) -> None:
    jackdaw("config", "set", "model.threads", "2")
    assert paths.config_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("answer.max_tokens", "0", "a whole number from 1"),
        ("answer.temperature", "-1", "a number from 0 to 5"),
        ("model.kv", "f32", "f16 or q8_0"),
        ("answer.max_token", "5", "Did you mean answer.max_tokens?"),
        ("model.name", "bogus", "There is no model bogus. There are: smollm2-135m, "),
        ("model.name", "all-minilm-l6-v2", "or name a file: file:/path/to/model.gguf"),
        ("embedder.name", "bogus", "There is no embedder bogus. There is: all-minilm-l6-v2\n"),
        ("embedder.name", "file:/model.gguf", "There is no embedder file:/model.gguf"),
    ],
)
def test_what_does_not_fit_is_not_written(key: str, value: str, expected: str, jackdaw: Any, paths: Paths) -> None:
    outcome = jackdaw("config", "set", key, value)
    assert outcome.code == 2
    assert expected in outcome.err
    assert not paths.config_file.exists()


def test_set_says_when_the_environment_goes_before_it(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_MODEL_THREADS", "3")
    assert "JACKDAW_MODEL_THREADS" in jackdaw("config", "set", "model.threads", "2").err
    assert jackdaw("config", "get", "model.threads").out == "3\n"


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_told_and_leaves_the_way_to_mend_it(text: str, jackdaw: Any, paths: Paths) -> None:
    write(paths, text)
    outcome = jackdaw("config")
    assert outcome.code == 2
    assert str(paths.config_file) in outcome.err
    assert jackdaw("config", "path").out == f"{paths.config_file}\n"
    assert jackdaw("paths").code == 0
    assert jackdaw("config", "docs").code == 0


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (BROKEN["unknown key"], "answer.max_token"),
        (BROKEN["wrong value"], "answer.max_tokens"),
        ("stray = 1\n", "stray"),
        ("answer = 1\n", "answer"),
    ],
)
def test_unset_mends_a_file_with_a_wrong_key(text: str, key: str, jackdaw: Any, paths: Paths) -> None:
    write(paths, text)
    assert jackdaw("config").code == 2
    assert jackdaw("config", "unset", key).code == 0
    assert jackdaw("config").code == 0


def test_set_mends_a_file_with_a_wrong_value(jackdaw: Any, paths: Paths) -> None:
    write(paths, BROKEN["wrong value"])
    assert jackdaw("config", "set", "answer.max_tokens", "9").code == 0
    assert jackdaw("config", "get", "answer.max_tokens").out == "9\n"


def test_a_section_that_is_a_value_is_told(jackdaw: Any, paths: Paths) -> None:
    write(paths, "answer = 1\n")
    outcome = jackdaw("config", "set", "answer.max_tokens", "9")
    assert outcome.code == 2
    assert "Unset answer first" in outcome.err


def test_a_file_that_cannot_be_opened_is_told(jackdaw: Any, paths: Paths) -> None:
    paths.config_file.mkdir(parents=True)
    outcome = jackdaw("config")
    assert outcome.code == 2
    assert "cannot be read" in outcome.err


@pytest.mark.parametrize(("line", "code"), [("model.threads = 2", 0), ("model.thread = 2", 2)])
def test_edit_opens_the_editor_and_checks_the_result(
    line: str, code: int, jackdaw: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.create()
    editor = paths.cache / "editor"
    editor.write_text(f"#!/bin/sh\necho '{line}' >> \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert jackdaw("config", "edit").code == code
    assert line in paths.config_file.read_text()


def values(setting: Setting) -> st.SearchStrategy[Value]:
    """Return a Hypothesis strategy for all values that the setting accepts."""
    low, high = setting.meta.ge, setting.meta.le
    if setting.choices:
        return st.sampled_from([True, False]) if setting.type is bool else st.sampled_from(setting.choices)
    if setting.key == "cache.kv_mb":
        return st.just("auto") | st.floats(0, 1_000_000)
    if setting.key == "model.gpu_layers":
        return st.just("auto") | st.integers(0, 1024)
    if setting.type is str:
        return st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    assert low is not None
    assert high is not None
    return st.integers(int(low), int(high)) if setting.type is int else st.floats(low, high)


changes = st.lists(
    st.sampled_from(list(SETTINGS.values())).flatmap(lambda setting: st.tuples(st.just(setting.key), values(setting))),
    min_size=1,
    max_size=8,
)

OWN = "# mine\n[answer] # of them\n# longer\nmax_tokens = 300   # words\n\n[knowledge]\n"


@pytest.mark.parametrize("before", ["", OWN, "answer.seed = 4\n", "# end without a line break", "[model]\nthreads=1"])
@given(expected=changes)
def test_what_is_set_is_what_is_in_force_and_comments_stay(before: str, expected: list[tuple[str, Value]]) -> None:
    text = before
    for key, value in expected:
        text = assigned(File("config.toml", text), key, value)
    resolved = resolve(Settings, file=File("config.toml", text))
    for key, value in dict(expected).items():
        in_force = resolved.value(key)
        assert in_force == value or (isinstance(value, float) and math.isclose(float(in_force), value))
        assert resolved.origins[key].layer is Layer.FILE
    assert all(comment in text for comment in ("# mine", "# of them", "# longer", "# words") if comment in before)

    for key in dict(expected):
        text = removed(File("config.toml", text), key)
    assert not set(dict(expected)) & {
        key
        for key, origin in resolve(Settings, file=File("config.toml", text)).origins.items()
        if origin.layer is Layer.FILE
    }


def test_an_unchanged_home_has_the_documented_defaults(paths: Paths) -> None:
    assert load(paths, {}).settings == Settings()


@pytest.mark.parametrize("key", RETIRED)
def test_a_retired_setting_is_accepted_noted_and_can_be_taken_out(
    key: str, jackdaw: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    section, _, name = key.partition(".")
    write(paths, f"[{section}]\n{name} = 3\n")
    variable = f"JACKDAW_{key.replace('.', '_').upper()}"
    monkeypatch.setenv(variable, "3")
    listed = jackdaw("config", "list")
    assert listed.code == 0
    for place in (f"{paths.config_file}, line 2", variable):
        assert f"{key} ({place}) no longer changes anything: {RETIRED[key]}" in listed.err
    monkeypatch.delenv(variable)
    assert f"The setting {key} was removed" in jackdaw("config", "set", key, "3").err
    assert jackdaw("config", "unset", key).code == 0
    assert jackdaw("config", "list").err == ""
