"""Base classes of all commands: examples in the help, --json, lazy loading, default subcommands.

Imports only the library click, so that `jackdaw --help` stays fast.
"""

import importlib
import re
import shutil
from collections.abc import Sequence
from typing import Any

import click

CONTEXT = {"help_option_names": ["-h", "--help"]}
_PATHS = {"path", "paths", "to"}
"""The names of the arguments and options that take file names. These stay byte for byte as typed, even if they are not
UTF-8.
"""


class Context(click.Context):
    """A context whose help is as wide as the terminal, up to 80 columns, also below click's minimum of 50 columns."""

    def make_formatter(self) -> click.HelpFormatter:
        """Return the formatter of every help text."""
        return click.HelpFormatter(width=min(shutil.get_terminal_size().columns, 80) - 1)


class Command(click.Command):
    """A command with --json (its callback takes `as_json`) and examples: pairs of a description and a command line."""

    context_class = Context

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        kwargs["context_settings"] = CONTEXT | kwargs.get("context_settings", {})
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params.append(
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object; progress goes to stderr.")
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Convert every argument but file names to valid UTF-8, as the store, the settings and the models require."""
        rest = super().parse_args(ctx, args)
        for name, value in ctx.params.items():
            if name not in _PATHS:
                ctx.params[name] = _utf8(value)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's examples, then its epilog."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A group that lists its commands in the order they were added, with an optional command that runs by default."""

    context_class = Context
    command_class = Command
    group_class = type

    def __init__(
        self, name: str, *, default: str | None = None, examples: Sequence[tuple[str, str]] = (), **kwargs: Any
    ) -> None:
        super().__init__(name, no_args_is_help=False, context_settings=CONTEXT, **kwargs)
        self.default = default
        self.examples = examples
        if default:
            self.subcommand_metavar = "[COMMAND] [ARGS]..."
            self.epilog = f"Without a command, `{default}` runs."

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the command names in the order they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command before arguments without a command name.

        A group without a default command shows its help if there are no arguments.
        """
        if not ctx.resilient_parsing:
            if self.default and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
                args = [self.default, *args]
            args = args or ["--help"]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the group's examples, then its epilog."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class Lazy(click.Command):
    """A placeholder that imports a command's module only when the command runs or its help is shown."""

    def __init__(self, name: str, module: str, short_help: str, attribute: str = "command") -> None:
        super().__init__(name, short_help=short_help)
        self.module = module
        self.attribute = attribute

    def load(self) -> click.Command:
        """Import and return the command."""
        loaded: click.Command = getattr(importlib.import_module(self.module), self.attribute)
        return loaded

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the loaded command's context, with which click continues."""
        return self.load().make_context(info_name, args, parent, **extra)


def _utf8(value: Any) -> Any:
    """Return the parameter with each invalid UTF-8 sequence replaced by a replacement character."""
    if isinstance(value, tuple):
        return tuple(map(_utf8, value))
    return re.sub(r"[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _write_examples(examples: Sequence[tuple[str, str]], formatter: click.HelpFormatter) -> None:
    if not examples:
        return
    with formatter.section("Examples"):
        for does, line in examples:
            formatter.write_text(does)
            # Never wrapped, so that it can be copied.
            formatter.write(f"{'':>{formatter.current_indent}}  $ {line}\n")
