"""`jackdaw config`: shows settings with the origin of each, explains them and changes them.

`path`, `edit`, `set` and `unset` do not load the current settings, so that they can repair an invalid settings file.
"""

import os

import click

from device_app.settings import SECTIONS, SETTINGS, load
from device_app.settings.change import NEW_FILE, overruled, set_value, spelled, unset_value
from shared.cli.frame import Group
from shared.cli.output import print_blocks, print_json, print_table
from shared.settings import find
from storage.paths import Paths
from storage.private import write_private

command = Group(
    "config",
    default="list",
    help="Show and change settings. Flags override the environment, which overrides the settings file.",
    examples=(
        ("Show every setting and where its value came from", "jackdaw config"),
        ("Change a setting", "jackdaw config set answer.max_tokens 400"),
        ("Change a setting for one command only", "JACKDAW_ANSWER_MAX_TOKENS=400 jackdaw ask ..."),
    ),
)


def complete_key(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the setting keys that begin with the word typed in the shell."""
    return [key for key in SETTINGS if key.startswith(incomplete)]


def complete_value(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the values that begin with the word typed in the shell, for a setting with a fixed set of choices."""
    setting = SETTINGS.get(ctx.params.get("key", ""))
    return [choice for choice in setting.choices if choice.startswith(incomplete)] if setting else []


key_argument = click.argument("key", shell_complete=complete_key)


@command.command("list", examples=(("Show every setting", "jackdaw config list"),))
def list_settings(as_json: bool) -> None:
    """Show every setting and where its value came from."""
    paths = Paths.locate(os.environ)
    resolved = load(paths, os.environ)
    facts = [
        {
            "key": key,
            "value": resolved.value(key),
            "default": setting.default,
            "origin": origin.layer.name.lower(),
            "place": origin.place,
        }
        for (key, setting), origin in zip(SETTINGS.items(), resolved.origins.values(), strict=True)
    ]
    if as_json:
        print_json({"file": paths.config_file, "settings": facts})
    else:
        for note in resolved.notes:
            click.echo(note, err=True)
        print_table(
            ("Setting", "Value", "From"), [(fact["key"], spelled(fact["value"]), fact["place"]) for fact in facts]
        )


@command.command("get", examples=(("Use a setting in a script", "jackdaw config get model.name"),))
@key_argument
def get(key: str, as_json: bool) -> None:
    """Print the current value of KEY."""
    find(SETTINGS, key)
    resolved = load(Paths.locate(os.environ), os.environ)
    value, origin = resolved.value(key), resolved.origins[key]
    if as_json:
        print_json({"key": key, "value": value, "origin": origin.layer.name.lower(), "place": origin.place})
    else:
        click.echo(spelled(value))


@command.command(
    "set",
    context_settings={"ignore_unknown_options": True},  # a value may be a negative number
    examples=(
        ("Allow longer answers", "jackdaw config set answer.max_tokens 400"),
        ("Hide the evidence", "jackdaw config set answer.evidence false"),
    ),
)
@key_argument
@click.argument("value", shell_complete=complete_value)
def set_one(key: str, value: str, as_json: bool) -> None:
    """Write VALUE for KEY into the settings file, after a check of the value. Comments in the file stay."""
    fitting = set_value(Paths.locate(os.environ), key, value)
    if as_json:
        print_json({"key": key, "value": fitting})
    else:
        click.echo(f"{key} = {spelled(fitting)}")
        say_if_overruled(key)


@command.command("unset", examples=(("Return a setting to its default", "jackdaw config unset answer.max_tokens"),))
@key_argument
def unset(key: str, as_json: bool) -> None:
    """Remove KEY from the settings file; unknown keys can be removed as well."""
    paths = Paths.locate(os.environ)
    unset_value(paths, key)
    if as_json:
        print_json({"key": key, "unset": True})
    else:
        click.echo(f"{key} is no longer set in {paths.config_file}.")


@command.command("path", examples=(("Back up the settings file", 'cp "$(jackdaw config path)" ~/backup/'),))
def path(as_json: bool) -> None:
    """Print the path of the settings file, whether it exists or not."""
    file = Paths.locate(os.environ).config_file
    if as_json:
        print_json({"file": file, "exists": file.exists()})
    else:
        click.echo(str(file))


@command.command("edit", examples=(("Edit the settings in an editor you choose", "EDITOR=nano jackdaw config edit"),))
def edit(as_json: bool) -> None:
    """Open the settings file in your editor and check it afterwards."""
    paths = Paths.locate(os.environ)
    if not paths.config_file.exists():
        write_private(paths.config_file, NEW_FILE)
    click.edit(filename=str(paths.config_file))
    load(paths, {})
    if as_json:
        print_json({"file": paths.config_file})
    else:
        click.echo(f"{paths.config_file} has no errors.")


@command.command("docs", examples=(("Explain every setting", "jackdaw config docs"),))
def docs(as_json: bool) -> None:
    """Explain every setting: its effect, accepted values, default and environment variable."""
    facts = [
        {
            "key": key,
            "description": setting.description,
            "accepts": setting.accepts,
            "default": setting.default,
            "variable": setting.variable,
        }
        for key, setting in SETTINGS.items()
    ]
    if as_json:
        print_json({"sections": SECTIONS, "settings": facts})
        return
    for number, (section, about) in enumerate(SECTIONS.items()):
        click.secho(f"{chr(10) if number else ''}[{section}] {about}\n", bold=True)
        print_blocks(
            [
                [(title, spelled(fact[title])) for title in fact]
                for fact in facts
                if str(fact["key"]).startswith(section + ".")
            ]
        )


def say_if_overruled(key: str) -> None:
    """Warn on stderr if an environment variable takes precedence over the setting that was just written."""
    if said := overruled(key, os.environ):
        click.echo(said, err=True)
