"""The files that `jackdaw phone setup` writes: whether a file is Jackdaw's, and that a user's own file is
never lost.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from device_app.system import phone_files
from device_app.system.phone_files import read_record, remove, standing, units, write
from device_app.system.services import Unit
from shared.errors import NotWritable
from tests.termux import Phone

PROGRAM = Path("/data/data/com.termux/files/usr/bin/jackdaw")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "state" / "phone.json"


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    return units(PROGRAM, {"HOME": str(tmp_path), "PREFIX": "/p"})[0]


def test_the_hooks_call_one_command_with_what_is_shared(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PREFIX": "/p", "JACKDAW_HOME": "/a b"}
    address, file, shortcut = units(PROGRAM, environment)
    assert [unit.path.relative_to(tmp_path) for unit in (address, file, shortcut)] == [
        Path("bin/termux-url-opener"),
        Path("bin/termux-file-editor"),
        Path(".shortcuts/Jackdaw"),
    ]
    assert f"env 'JACKDAW_HOME=/a b' {PROGRAM} phone share -- \"$1\"" in address.text
    assert shortcut.text.endswith(f"exec env 'JACKDAW_HOME=/a b' {PROGRAM}\n")


@pytest.mark.parametrize("shared", ["https://a.b/?q=$(id)&x='\"`id`", "-y", "/h/a b\n;c.txt", ""])
def test_what_is_shared_arrives_whole(phone: Phone, record: Path, shared: str) -> None:
    phone.script("jackdaw", "")
    address, file, shortcut = units(phone.bin / "jackdaw", phone.environment)
    for unit in (address, file, shortcut):
        write(unit, record)
        phone.shell([unit.path, shared])
    assert phone.calls() == [*[["jackdaw", "phone", "share", "--", shared]] * 2, ["jackdaw"]]


REAL = """#!{python}
from device_app.cli import main
from tests.devices import fake_device

main(fake_device)
"""

NOTE = "# Lent\n\nPetra\x1b]52;c;aGk=\x07 has borrowed the blue drill.\n"


@pytest.fixture
def shared(phone: Phone, record: Path, terminal: Callable[..., Any]) -> Callable[[str, Path | str], Any]:
    """Shares a link or a file with Jackdaw: runs the script that Termux runs for it, on a terminal, with the real
    program.
    """
    program = phone.prefix / "opt" / "my jackdaw" / "jackdaw"
    program.parent.mkdir(parents=True)
    program.write_text(REAL.format(python=phone.python))
    program.chmod(0o755)
    scripts = {unit.path.name: unit for unit in units(program, phone.environment)}

    def share(script: str, what: Path | str) -> Any:
        write(scripts[script], record)
        return terminal([str(scripts[script].path), str(what)], phone.environment, 200, 50)

    return share


def closed(screen: Any) -> str:
    """Close the screen with Enter, and return all text that it showed."""
    screen.awaits("Press Enter to close")
    screen.types("\r")
    assert screen.ends() == 0
    assert "Traceback" not in screen.written
    assert "\x1b]52" not in screen.written
    return " ".join(screen.written.split())


@pytest.mark.parametrize("name", ["letter.txt", 'a "new" letter $(id).md'])
def test_a_shared_text_is_kept_and_asked_about_at_once(
    phone: Phone, shared: Callable[[str, Path | str], Any], name: str
) -> None:
    text = phone.home / "downloads" / name
    text.parent.mkdir()
    text.write_text(NOTE)
    screen = shared("termux-file-editor", text)
    screen.awaits("Ask about it now")
    screen.types("Who has the blue drill?\r")
    screen.awaits("Petra")
    assert f"Kept: {name}" in closed(screen)


def test_a_shared_link_is_kept(phone: Phone, shared: Callable[[str, Path | str], Any]) -> None:
    screen = shared("termux-url-opener", "https://u:secret@example.org/recipes/almond-cake?a=1&b='`id`$(id)")
    screen.awaits("Ask about it now")
    screen.types("\r")
    said = closed(screen)
    assert "Kept: example.org-" in said
    assert "secret" not in said
    (note,) = (phone.home / ".local" / "share" / "jackdaw" / "shared").iterdir()
    assert "Link: https://example.org/recipes/almond-cake?a=1&b='`id`$(id)\n" in note.read_text()


@pytest.mark.parametrize(
    ("script", "what", "says"),
    [
        ("termux-url-opener", "https://", "This is no web address: https:// (it names no website)"),
        ("termux-url-opener", "not a link", "There is no file named"),
        ("termux-url-opener", "https://example.org/\x1b]52;c;aGk=\x07", "it has spaces or control characters"),
        ("termux-file-editor", "-y", "There is no file named"),
        ("termux-file-editor", "film.txt", "has 2,147 MB, and files of up to 100 MB are read"),
    ],
)
def test_what_cannot_be_kept_is_said_until_it_is_closed(
    phone: Phone, shared: Callable[[str, Path | str], Any], script: str, what: str, says: str
) -> None:
    if what == "film.txt":
        what = str(phone.home / what)
        with Path(what).open("wb") as file:
            file.truncate(2 << 30)
    assert says in closed(shared(script, what))
    assert not (phone.home / ".local" / "share" / "jackdaw" / "shared").exists()


def test_a_file_is_written_known_again_and_removed(unit: Unit, record: Path) -> None:
    assert standing(unit, read_record(record)) == "missing"
    assert write(unit, record) is None
    assert (unit.path.read_text(), unit.path.stat().st_mode & 0o777) == (unit.text, 0o700)
    assert standing(unit, read_record(record)) == "written"
    later = Unit(unit.path, unit.text + "# later\n", executable=True)
    assert standing(later, read_record(record)) == "outdated"
    assert write(later, record) is None
    assert remove(later, record)
    assert (unit.path.exists(), read_record(record)) == (False, {})
    assert not remove(later, record)


def test_a_persons_file_is_moved_aside_and_put_back(unit: Unit, record: Path) -> None:
    unit.path.parent.mkdir()
    unit.path.write_text("echo mine")
    assert standing(unit, read_record(record)) == "yours"
    assert not remove(unit, record)
    aside = write(unit, record)
    assert aside and aside.read_text() == "echo mine"
    assert write(unit, record) is None  # once more, as after a kill: the copy is not taken for another one
    assert remove(unit, record)
    assert unit.path.read_text() == "echo mine"
    assert not aside.exists()


def test_what_a_person_changed_is_theirs(unit: Unit, record: Path) -> None:
    write(unit, record)
    unit.path.write_text(unit.text + "echo mine\n")
    assert standing(unit, read_record(record)) == "yours"
    assert not remove(unit, record)
    first, second = write(unit, record), unit.path
    second.write_text("echo other")
    assert first and write(unit, record) == first.with_name(f"{first.name}-2")


def test_a_link_is_a_persons_and_its_target_stays(unit: Unit, record: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.write_text(unit.text)
    unit.path.parent.mkdir()
    unit.path.symlink_to(target)
    assert standing(unit, read_record(record)) == "yours"
    target.write_text("echo mine")
    aside = write(unit, record)
    assert aside and aside.is_symlink()
    assert (target.read_text(), unit.path.is_symlink()) == ("echo mine", False)


def test_a_kill_between_two_steps_loses_nothing(unit: Unit, record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ("_write_record", "write_private")
    for step in steps:
        unit.path.parent.mkdir(exist_ok=True)
        unit.path.write_text("echo mine")

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(phone_files, step, killed)
            with pytest.raises(KeyboardInterrupt):
                write(unit, record)
        write(unit, record)
        remove(unit, record)
        texts = [file.read_text() for file in unit.path.parent.iterdir()]
        assert texts == ["echo mine"], step


@pytest.mark.parametrize("broken", ["", "{", '{"/x": 3}', "\xff"])
def test_a_broken_record_makes_files_a_persons(unit: Unit, record: Path, broken: str) -> None:
    write(unit, record)
    record.write_text(broken, "latin-1")
    assert read_record(record) == {}
    assert standing(unit, read_record(record)) == "written"


@pytest.fixture
def _read_only(tmp_path: Path, unit: Unit) -> Iterator[None]:
    (tmp_path / "bin").write_text("a file where a folder belongs")
    yield


@pytest.mark.usefixtures("_read_only")
def test_a_folder_that_cannot_be_made_is_named(unit: Unit, record: Path) -> None:
    with pytest.raises(NotWritable, match="bin"):
        write(unit, record)
