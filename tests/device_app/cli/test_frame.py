"""The command line's common parts: the table of commands, lazy imports, help texts, and an exit code for
every outcome.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from device_app.cli import COMMANDS
from device_app.cli import jackdaw as group
from shared import errors
from shared.cli.frame import Command, Group, Lazy

FULL = Path("/dev/full")
HEAVY = (
    *("numpy", "rich", "llama_cpp", "onnxruntime", "sqlite3", "sqlite_utils", "tomlkit", "msgspec", "huggingface_hub"),
    "textual",
)


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """The console script in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)} | environment,
    )


ENTRIES = pytest.mark.parametrize(
    "entry", [entry for entry in COMMANDS if importlib.util.find_spec(entry.module)], ids=lambda entry: entry.name
)


def commands_of(entry: Lazy) -> Iterator[tuple[list[str], click.Command]]:
    """Yield the command and all its subcommands, each with its full name."""
    command = entry.load()
    yield [str(entry.name)], command
    if isinstance(command, Group):
        yield from (([str(entry.name), name], subcommand) for name, subcommand in command.commands.items())


def test_the_top_help_names_every_command_with_a_short_text(jackdaw: Any) -> None:
    outcome = jackdaw("--help")
    assert outcome.code == 0
    for entry in COMMANDS:
        assert f"  {entry.name} " in outcome.out
        assert entry.get_short_help_str() in outcome.out
        assert entry.get_short_help_str().endswith(".")


def test_no_arguments_print_the_same_help(jackdaw: Any) -> None:
    assert jackdaw() == jackdaw("--help") == jackdaw("-h")


def test_the_table_names_each_command_once() -> None:
    assert list(group.commands) == [
        *(
            "app",
            "web",
            "ask",
            "search",
            "why",
            "wrong",
            "add",
            "knowledge",
            "me",
            "cache",
            "models",
            "history",
            "daemon",
            "connect",
            "disconnect",
            "phone",
            "status",
            "doctor",
            "config",
            "paths",
            "completion",
        )
    ]


@ENTRIES
def test_every_command_explains_itself_with_an_example(entry: Lazy, jackdaw: Any) -> None:
    for words, _ in commands_of(entry):
        outcome = jackdaw(*words, "--help")
        assert outcome.code == 0
        assert "jackdaw " + words[0] in outcome.out.partition("Examples:\n")[2], words


@ENTRIES
def test_every_command_takes_json(entry: Lazy) -> None:
    for words, command in commands_of(entry):
        if isinstance(command, Group):
            assert command.default in command.commands, words
        else:
            assert [option for option in command.params if "--json" in option.opts], words


@ENTRIES
def test_help_fits_a_phone(entry: Lazy, jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for words, _ in commands_of(entry):
        text = jackdaw(*words, "--help").out.partition("Examples:\n")[0]
        assert max(len(line) for line in text.splitlines() if not line.startswith("Usage")) <= 40, words


@pytest.mark.parametrize("arguments", [["--help"], [], ["--bogus"], ["bogus"], ["completion", "--help"]])
def test_help_and_usage_errors_import_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["jackdaw", *{arguments!r}]
from device_app.cli import main
try:
    main()
except SystemExit:
    pass
print("loaded", [name for name in {HEAVY!r} if name in sys.modules])
"""
    process = start(code)
    out, err = process.communicate(timeout=60)
    loaded = out.splitlines()[-1]
    # A command's own module may take what its output needs; never a model or the database.
    allowed = ["loaded []", "loaded ['msgspec']"] if arguments[:1] == ["completion"] else ["loaded []"]
    assert loaded in allowed, err


def test_answers_without_a_server_import_no_connection() -> None:
    code = "import sys; import device_app.answering.assistant; print('websockets' in sys.modules)"
    process = start(code)
    out, err = process.communicate(timeout=60)
    assert out == "False\n", err


LATE = (
    "device_app.answering.checking", "device_app.answering.generation", "device_app.answering.quoting",
    "device_app.answering.server", "device_app.answering.writer", "device_app.companion.dispatch",
    "device_app.companion.joint", "device_app.english.notices", "device_app.english.permission",
    "device_app.everyday.agenda_answer", "device_app.everyday.agenda_notices", "device_app.everyday.agenda_wording",
    "device_app.everyday.table_answer", "device_app.everyday.table_figures", "device_app.everyday.table_wording",
    "device_app.inference.local", "importlib.metadata", "importlib.resources.readers", "models.speculative.decoding",
    "psutil", "rich", "shared.aggregation", "shared.protocol.messages",
)  # fmt: skip
"""What only other answers need than kept ones."""


def test_what_kept_answers_do_without_is_imported_late() -> None:
    code = (
        "import sys, device_app.answering.assistant, device_app.answering.early, device_app.cache.answers.bank, "
        "device_app.cache.states.tree, device_app.cli.ask, device_app.device, device_app.everyday.rules; "
        "from device_app.english import places, slots; places.zone('Rome'); slots.Vocabulary.load('agenda'); "
        f"print(*sorted({set(LATE)!r} & set(sys.modules)))"
    )
    process = start(code)
    out, err = process.communicate(timeout=60)
    assert out == "\n", err


def test_version_is_the_distributions(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"jackdaw": "9.8.7"}[name])
    assert jackdaw("--version").out == "jackdaw 9.8.7\n"


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Adds a command `fail`, which raises the given error, to the table of commands."""

    def install(error: BaseException) -> None:
        def callback(as_json: bool) -> None:
            raise error

        monkeypatch.setitem(group.commands, "fail", Command("fail", callback=callback))

    return install


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.JackdawError("It failed."), 1),
        (errors.StoreFull("It failed."), 1),
        (errors.WeightsMissing("It failed."), 1),
        (errors.UsageError("It failed."), 2),
        (errors.SettingError("It failed."), 2),
        (errors.NothingFound("It failed."), 3),
    ],
)
def test_an_error_is_told_once_for_people_and_once_for_scripts(
    error: errors.JackdawError, code: int, raising: Any, jackdaw: Any
) -> None:
    raising(error)
    plain, scripted = jackdaw("fail"), jackdaw("fail", "--json")
    assert (plain.code, plain.out, plain.err) == (code, "", "jackdaw: It failed.\n")
    assert scripted.code == code
    assert json.loads(scripted.out) == {"error": {"type": type(error).__name__, "message": "It failed."}}
    assert scripted.err == "jackdaw: It failed.\n"


def test_escapes_in_a_message_do_not_reach_the_terminal(raising: Any, jackdaw: Any) -> None:
    raising(errors.UnreadableFile("\x1b[2Jgone\x07"))
    assert jackdaw("fail").err == "jackdaw: [2Jgone\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort(), EOFError()])
def test_an_interruption_says_so_shortly(error: BaseException, raising: Any, jackdaw: Any) -> None:
    raising(error)
    outcome = jackdaw("fail")
    assert outcome.code == 130
    assert outcome.err.strip() == "Stopped."


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], ["--bogus"], ["paths", "--bogus"], ["paths", "surplus"], ["config", "get"], ["completion", "tcsh"]],
)
def test_wrong_usage_is_exit_code_2_and_json_where_asked(arguments: list[str], jackdaw: Any) -> None:
    assert (jackdaw(*arguments).code, jackdaw(*arguments).out) == (2, "")
    scripted = jackdaw(*arguments, "--json")
    assert scripted.code == 2
    assert json.loads(scripted.out)["error"]["type"] == "UsageError"


def test_json_behind_a_double_dash_is_a_word(raising: Any, jackdaw: Any) -> None:
    raising(errors.JackdawError("It failed."))
    assert jackdaw("fail", "--", "--json").out == ""


def test_an_error_that_is_a_bug_is_not_swallowed(raising: Any, jackdaw: Any) -> None:
    raising(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        jackdaw("fail")


def test_a_commands_exit_code_is_the_programs(monkeypatch: pytest.MonkeyPatch, jackdaw: Any) -> None:
    monkeypatch.setitem(group.commands, "warn", Command("warn", callback=lambda as_json: errors.ExitCode.NOTHING))
    assert jackdaw("warn").code == 3


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    process = start("import sys; sys.argv = ['jackdaw']; sys.stdin.read(); from device_app.cli import main; main()")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) in {0, 1}
    process.stderr.close()


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["paths"], ["completion", "bash"], ["bogus", "--json"]])
def test_an_output_that_is_full_is_told(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        code = f"import sys; sys.argv = ['jackdaw', *{arguments}]; from device_app.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("jackdaw: Cannot write the output: no space left on device.\n")
    assert "Traceback" not in done.stderr
