"""The command that opens a file in the user's editor."""

import pytest

from device_app.commands.editing import editor_command
from shared.errors import UsageError


@pytest.mark.parametrize(
    ("environment", "line", "command"),
    [
        ({"EDITOR": "nano"}, 7, [b"nano", b"+7", b"/a b"]),
        ({"EDITOR": "nano", "VISUAL": "/usr/bin/vim -u NONE"}, 7, [b"/usr/bin/vim", b"-u", b"NONE", b"+7", b"/a b"]),
        ({"EDITOR": "code -w"}, 7, [b"code", b"-w", b"--goto", b"/a b:7"]),
        ({"EDITOR": "hx"}, 7, [b"hx", b"/a b:7"]),
        ({"EDITOR": "strange"}, 7, [b"strange", b"/a b"]),
        ({"EDITOR": "vi"}, None, [b"vi", b"/a b"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(
    environment: dict[str, str], line: int | None, command: list[bytes]
) -> None:
    assert editor_command(environment, b"/a b", line) == command


@pytest.mark.parametrize("editor", ["", "  ", "'"])
def test_without_an_editor_it_is_said_how_to_choose_one(editor: str) -> None:
    with pytest.raises(UsageError, match="export EDITOR="):
        editor_command({"EDITOR": editor}, b"/a", 1)
