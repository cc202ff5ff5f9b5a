"""Settings in layers: default < TOML file < environment < flags; each value has its origin. Pure, but for `File.read`.

A program declares its settings as frozen dataclasses, one per section, whose fields are `Annotated[type,
msgspec.Meta(description=…, limits…)]`. This module depends on no program's settings and on no file's location.
"""

import dataclasses
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar

import msgspec

from shared.errors import SettingError

PREFIX = "JACKDAW_"
"""The prefix of settings' environment variables."""

Root = TypeVar("Root")
Value = bool | int | float | str


class Layer(IntEnum):
    """The possible origins of a setting's value; a higher origin overrides a lower one."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value. `place` is a file, an environment variable or a flag, in the user's notation."""

    layer: Layer
    place: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting. `key` is "section.name", `meta` holds the description and the limits.

    `prefix` begins the names of the program's environment variables.
    """

    key: str
    type: Any
    default: Value
    meta: msgspec.Meta
    prefix: str

    @property
    def description(self) -> str:
        """The setting's description, for users."""
        return self.meta.description or ""

    @property
    def variable(self) -> str:
        """The name of the setting's environment variable."""
        return _variable(self.key, self.prefix)

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values, if the setting is an enumeration or a boolean; else empty."""
        if self.type is bool:
            return ("true", "false")
        return typing.get_args(self.type) if typing.get_origin(self.type) is typing.Literal else ()

    def overruled(self, environment: Mapping[str, str]) -> str:
        """Return a warning if an environment variable takes precedence over the value in the file; else ""."""
        taken = environment.get(self.variable)
        return f"The environment variable {self.variable} overrides this value." if taken else ""

    @property
    def accepts(self) -> str:
        """The allowed values, as a phrase."""
        if self.choices:
            return " or ".join(self.choices)
        if typing.get_origin(self.type) is typing.Union:
            return " or ".join(_alternative(kind) for kind in typing.get_args(self.type))
        return _words(self.type, self.meta)


@dataclass(frozen=True, slots=True)
class File:
    """The text of a settings file. `place` names the file in messages; `remedy` tells the user how to correct it."""

    place: str
    text: str
    remedy: str = "Correct it with `jackdaw config edit`."

    @classmethod
    def read(cls, path: Path, remedy: str = remedy) -> Self | None:
        """Read a settings file; None if it does not exist. Raises SettingError if it cannot be read."""
        try:
            return cls(str(path), path.read_text(encoding="utf-8"), remedy)
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise SettingError(f"{path} is not UTF-8 text. {remedy}") from None
        except OSError as error:
            raise SettingError(f"{path} cannot be read: {error.strerror}. Correct the file's permissions.") from None


@dataclass(frozen=True, slots=True)
class Resolved(Generic[Root]):
    """The effective settings, the origin of every key's value, and a note for each removed setting that is set."""

    settings: Root
    origins: Mapping[str, Origin]
    notes: Sequence[str] = ()

    def value(self, key: str) -> Value:
        """Return the effective value of a declared key."""
        section, _, name = key.partition(".")
        value: Value = getattr(getattr(self.settings, section), name)
        return value


def declared(root: type, prefix: str = PREFIX) -> dict[str, Setting]:
    """Return all settings of a root dataclass, by key, in order."""
    by_key: dict[str, Setting] = {}
    for section, section_type in typing.get_type_hints(root).items():
        hints = typing.get_type_hints(section_type, include_extras=True)
        for field in dataclasses.fields(section_type):
            key = f"{section}.{field.name}"
            kind, meta = typing.get_args(hints[field.name])
            by_key[key] = Setting(key, kind, typing.cast(Value, field.default), meta, prefix)
    return by_key


def resolve(
    root: type[Root],
    *,
    file: File | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    flags: Mapping[str, object] = MappingProxyType({}),
    not_settings: Collection[str] = (),
    retired: Mapping[str, str] = MappingProxyType({}),
    prefix: str = PREFIX,
) -> Resolved[Root]:
    """Merge the layers. A flag of None and an empty variable count as not given.

    `not_settings` are variables with the prefix that are no settings. `retired` maps removed keys to an explanation:
    they are accepted, with a note. Raises SettingError, which names the key, its place and, for an unknown key, the
    most similar known key.
    """
    settings = declared(root, prefix)
    values: dict[str, dict[str, Value]] = {}
    for key, setting in settings.items():
        section, _, name = key.partition(".")
        values.setdefault(section, {})[name] = setting.default
    origins = dict.fromkeys(settings, Origin(Layer.DEFAULT, "default"))

    notes: list[str] = []
    given = [*_from_file(file, [*settings, *retired])] if file else []
    variables = {name: value for name, value in environment.items() if name.startswith(prefix)}
    given += _from_environment(variables, [*settings, *retired], prefix, not_settings)
    given += ((key, value, Origin(Layer.FLAG, _flag(key))) for key, value in flags.items() if value is not None)
    for key, value, origin in given:
        place = _line(file, key) if file and origin.layer is Layer.FILE else origin.place
        if key in retired:
            notes.append(f"{key} ({place}) no longer changes anything: {retired[key]}")
            continue
        section, _, name = key.partition(".")
        values[section][name] = fit(settings[key], value, place, strict=origin.layer is not Layer.ENVIRONMENT)
        origins[key] = origin

    sections = typing.get_type_hints(root)
    return Resolved(root(**{name: sections[name](**content) for name, content in values.items()}), origins, notes)


def find(settings: Mapping[str, Setting], key: str) -> Setting:
    """Return the setting with that key. Raises SettingError, which names the most similar key."""
    if key not in settings:
        raise _unknown(key, "", settings)
    return settings[key]


def fit(setting: Setting, value: object, place: str, *, strict: bool = False) -> Value:
    """Return the value converted to the setting's type, within its limits; unless `strict`, strings are parsed.

    `place`, the file, variable or flag that contains the value, is named in errors.

    Raises SettingError.
    """
    try:
        fitting: Value = msgspec.convert(value, typing.Annotated[setting.type, setting.meta], strict=strict)
    except msgspec.ValidationError:
        raise SettingError(f"{setting.key} cannot be {value!r} ({place}). It takes {setting.accepts}.") from None
    return fitting


def _from_file(file: File, keys: Collection[str]) -> Iterator[tuple[str, object, Origin]]:
    import tomllib

    try:
        tables = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{file.place} is not valid TOML: {error}. {file.remedy}") from None
    for key, value in _entries(tables):
        if key not in keys:
            raise _unknown(key, f" ({_line(file, key)})", keys)
        yield key, value, Origin(Layer.FILE, file.place)


def _from_environment(
    environment: Mapping[str, str], keys: Collection[str], prefix: str, not_settings: Collection[str]
) -> Iterator[tuple[str, object, Origin]]:
    by_variable = {_variable(key, prefix): key for key in keys}
    for variable, value in environment.items():
        if variable not in not_settings and value:
            if variable not in by_variable:
                raise _unknown(variable, " (environment)", by_variable)
            yield by_variable[variable], value, Origin(Layer.ENVIRONMENT, variable)


def _entries(tables: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for section, content in tables.items():
        if isinstance(content, dict):
            yield from ((f"{section}.{name}", value) for name, value in content.items())
        else:
            yield section, content


def _line(file: File, key: str) -> str:
    """Return the file and the line at which the key's value ends, by parsing ever longer beginnings of the text."""
    import tomllib

    lines = file.text.splitlines()
    for number in range(1, len(lines) + 1):
        try:
            if key in dict(_entries(tomllib.loads("\n".join(lines[:number])))):
                return f"{file.place}, line {number}"
        except tomllib.TOMLDecodeError:  # the prefix ends inside a value
            continue
    return file.place


def _alternative(kind: Any) -> str:
    """Return the values that one type of a union allows, as a phrase: an enumeration, or a type with its limits."""
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(typing.get_args(kind))
    return _words(*typing.get_args(kind))


def _words(kind: Any, meta: msgspec.Meta) -> str:
    words = {int: "a whole number", float: "a number", str: "a text"}[kind]
    low, high = (None if limit is None else f"{limit:,}".removesuffix(".0") for limit in (meta.ge, meta.le))
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    if low is not None:
        return f"{words}, {low} or more"
    return words + (", not empty" if meta.min_length else "")


def _variable(key: str, prefix: str) -> str:
    return prefix + key.replace(".", "_").upper()


def _flag(key: str) -> str:
    return "--" + key.rpartition(".")[2].replace("_", "-")


def _unknown(name: str, place: str, known: Iterable[str]) -> SettingError:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    advice = f"Did you mean {near[0]}?" if near else "`jackdaw config docs` lists all settings."
    return SettingError(f"There is no setting {name}{place}. {advice}")
