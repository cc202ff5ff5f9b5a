"""The frame every command stands in: examples under its help, --json, lazy loading, default subcommands.

Knows no command. Imports nothing but click, so that `jackdaw --help` stays quick.
"""

import importlib
import re
import shutil
from collections.abc import Sequence
from typing import Any

import click

CONTEXT = {"help_option_names": ["-h", "--help"]}
_PATHS = {"path", "paths", "to"}
"""Arguments and options that name files: these keep the bytes they have on the disk, UTF-8 or not."""


class Context(click.Context):
    """Help as wide as the terminal up to 80 columns; click itself never goes under 50, and a phone has 40."""

    def make_formatter(self) -> click.HelpFormatter:
        """The formatter of every help text."""
        return click.HelpFormatter(width=min(shutil.get_terminal_size().columns, 80) - 1)


class Command(click.Command):
    """A command with --json (its callback takes `as_json`) and examples: pairs of what it does and what to type."""

    context_class = Context

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        kwargs["context_settings"] = CONTEXT | kwargs.get("context_settings", {})
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params.append(
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object; progress goes to stderr.")
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Make every word UTF-8, as the store, the settings and the models need it."""
        rest = super().parse_args(ctx, args)
        for name, value in ctx.params.items():
            if name not in _PATHS:
                ctx.params[name] = _utf8(value)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples first, then the epilog."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """Commands in the order they were added. One of them may be the default: it runs where none is named."""

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
            self.epilog = f"Without a command: {default}."

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Names, in the order they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default's name before arguments that name no command; without a default, none at all ask for help."""
        if not ctx.resilient_parsing:
            if self.default and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
                args = [self.default, *args]
            args = args or ["--help"]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples first, then the epilog."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class Lazy(click.Command):
    """Stands for a command until it runs or its own help is asked: only then is its module imported."""

    def __init__(self, name: str, module: str, short_help: str, attribute: str = "command") -> None:
        super().__init__(name, short_help=short_help)
        self.module = module
        self.attribute = attribute

    def load(self) -> click.Command:
        """The command itself."""
        loaded: click.Command = getattr(importlib.import_module(self.module), self.attribute)
        return loaded

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command itself; click goes on with the command that the context names."""
        return self.load().make_context(info_name, args, parent, **extra)


def _utf8(value: Any) -> Any:
    """The parameter with a mark in the place of what is no UTF-8."""
    if isinstance(value, tuple):
        return tuple(map(_utf8, value))
    return re.sub(r"[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _write_examples(examples: Sequence[tuple[str, str]], formatter: click.HelpFormatter) -> None:
    if not examples:
        return
    with formatter.section("Examples"):
        for does, line in examples:
            formatter.write_text(does)
            # Never wrapped: it is there to be copied.
            formatter.write(f"{'':>{formatter.current_indent}}  $ {line}\n")
