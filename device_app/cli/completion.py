"""`jackdaw completion`: prints the shell script that completes commands, options, setting keys and model names."""

import click
from click.shell_completion import get_completion_class

from shared.cli.frame import Command
from shared.cli.output import print_json

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    cls=Command,
    examples=(
        ("Install for bash, for every new shell", "jackdaw completion bash >> ~/.bash_completion"),
        ("Install for zsh, into a folder of $fpath", "jackdaw completion zsh > ~/.zfunc/_jackdaw"),
        ("Install for fish, for every new shell", "jackdaw completion fish > ~/.config/fish/completions/jackdaw.fish"),
        ("Enable in the current bash only", 'eval "$(jackdaw completion bash)"'),
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the script that completes commands, options, setting keys and model names in SHELL.

    zsh needs `fpath=(~/.zfunc $fpath)` before `compinit` in ~/.zshrc.
    """
    completion = get_completion_class(shell)
    assert completion is not None  # `shell` is one of SHELLS
    script = completion(ctx.find_root().command, {}, "jackdaw", "_JACKDAW_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
