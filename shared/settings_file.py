"""Edits the text of a settings file without changing its comments and order. Depends on no particular setting."""

import tomlkit
from tomlkit.exceptions import TOMLKitError

from shared.errors import NothingFound, SettingError
from shared.settings import File, Value


def assigned(file: File, key: str, value: Value) -> str:
    """Return the file's text with the key set to the value. Raises SettingError if the file is not valid TOML."""
    document = _parsed(file)
    section, _, name = key.partition(".")
    table = document.setdefault(section, tomlkit.table())
    if not isinstance(table, dict):
        raise SettingError(
            f"{file.place} has a value named {section} where the section [{section}] belongs. Unset {section} first."
        )
    table[name] = value
    return tomlkit.dumps(document)


def removed(file: File, key: str) -> str:
    """Return the file's text without the key.

    Raises NothingFound if the key is not set, SettingError for invalid TOML.
    """
    document = _parsed(file)
    section, dot, name = key.partition(".")
    table = document.get(section) if dot else document
    if not isinstance(table, dict) or (name or section) not in table:
        raise NothingFound(f"{key} is not set in {file.place}, so there is nothing to unset.")
    del table[name or section]
    return tomlkit.dumps(document)


def _parsed(file: File) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(file.text)
    except TOMLKitError as error:
        raise SettingError(f"{file.place} is not valid TOML: {error}. {file.remedy}") from None
