"""Files and folders: where they are, who may read them, and that a file is replaced completely or not at all."""

import os
from pathlib import Path

import pytest

from shared.errors import NotWritable
from storage.durable import write_durably
from storage.paths import Paths
from storage.private import hand_over, private_folder, private_lock, write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_jackdaw_home_moves_all_four_folders(tmp_path: Path) -> None:
    paths = Paths.locate({"JACKDAW_HOME": str(tmp_path)})
    assert paths == Paths(tmp_path / "config", tmp_path / "data", tmp_path / "cache", tmp_path / "state")


def test_a_home_may_be_relative_or_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Paths.locate({"JACKDAW_HOME": "here"}).data == tmp_path / "here" / "data"
    assert Paths.locate({"JACKDAW_HOME": "~/there"}).data == tmp_path / "there" / "data"


@pytest.mark.parametrize("environment", [{}, {"JACKDAW_HOME": ""}])
def test_without_a_home_the_platform_decides(environment: dict[str, str]) -> None:
    folders = Paths.locate(environment)
    assert all("jackdaw" in str(folder) for folder in (folders.config, folders.data, folders.cache, folders.state))


def test_a_phone_is_an_ordinary_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "android")
    paths = Paths.locate({"JACKDAW_HOME": str(tmp_path)})
    paths.create()
    assert paths.data.is_dir()


def test_locating_creates_nothing_and_creating_makes_private_folders(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    paths = Paths.locate({"JACKDAW_HOME": str(home)})
    assert not home.exists()
    paths.create()
    paths.create()
    assert {mode(folder) for folder in (home, paths.config, paths.data, paths.cache, paths.state)} == {0o700}


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    folder.chmod(0o750)
    private_folder(folder)
    assert mode(folder) == 0o750


def test_every_file_lies_in_one_of_the_folders(tmp_path: Path) -> None:
    paths = Paths.locate({"JACKDAW_HOME": str(tmp_path)})
    names = [name for name, value in vars(Paths).items() if isinstance(value, property)]
    files = [getattr(paths, name) for name in names]
    assert len(set(files)) == len(names) > 0
    folders = {paths.config, paths.data, paths.cache, paths.state}
    assert all(folders & set(file.parents) for file in files)


def test_a_written_file_is_private_even_where_the_old_one_was_not(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    write_private(file, "first")
    file.chmod(0o644)
    write_private(file, "sécond")
    assert (file.read_text(encoding="utf-8"), mode(file)) == ("sécond", 0o600)


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "real.toml", tmp_path / "link.toml"
    link.symlink_to(real)
    write_private(link, "text")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "text"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    write_private(file, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotWritable, match=r"config\.toml: no space left on device\. Make room"):
        write_private(file, "new")
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [("config.toml", "old")]


@pytest.mark.parametrize("home", ["file", "file/home"])
def test_folders_that_cannot_be_made_are_told_with_the_next_step(tmp_path: Path, home: str) -> None:
    (tmp_path / "file").touch()
    paths = Paths.locate({"JACKDAW_HOME": str(tmp_path / home)})
    with pytest.raises(NotWritable, match=f"Cannot make the folder {tmp_path}/.*JACKDAW_HOME"):
        paths.create()
    with pytest.raises(NotWritable, match="Cannot make the folder"):
        write_private(paths.config_file, "text")


def test_a_folder_that_may_not_be_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everywhere.
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(NotWritable, match=r"Cannot write .*talk\.md: permission denied\. .* another folder"):
        write_private(tmp_path / "talk.md", "text")


def test_what_is_written_anew_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "planted").symlink_to(tmp_path / "precious")
    with pytest.raises(NotWritable):
        write_durably(tmp_path / "planted", [b"gone"])
    assert (tmp_path / "precious").read_text() == "kept"


as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="it takes root to give a file away"
)


@as_root
def test_root_gives_away_what_it_made_and_nothing_that_a_link_leads_to(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    os.chown(folder, 4321, 4322)
    for name in ("own", "precious"):
        (tmp_path / name).write_text("")
    (folder / "link").symlink_to(tmp_path / "precious")
    os.link(tmp_path / "precious", folder / "same")
    (folder / "made").write_text("")
    for name in ("link", "same", "made"):
        hand_over(folder / name, folder)
    assert (tmp_path / "precious").stat().st_uid == 0
    assert ((folder / "made").stat().st_uid, (folder / "made").stat().st_gid) == (4321, 4322)
    write_private(folder / "file", "text")
    private_lock(folder / "below" / "lock")
    assert {path.lstat().st_uid for path in (folder / "file", folder / "below", folder / "below" / "lock")} == {4321}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder of another user with links, some of which lead to root's files outside the folder."""
    folder = tmp_path / "service"
    folder.mkdir()
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "roots").mkdir()
    for name, leads_to in {"out": "../precious", "new": "../fresh", "in": "real", "folder": "../roots"}.items():
        (folder / name).symlink_to(leads_to)
        os.chown(folder / name, 4321, 4321, follow_symlinks=False)
    os.chown(folder, 4321, 4321)
    return folder


@as_root
@pytest.mark.parametrize("name", ["out", "new"])
def test_root_follows_no_link_out_of_another_users_folder(tmp_path: Path, planted: Path, name: str) -> None:
    with pytest.raises(NotWritable, match=r"a symbolic link is in the path.* Move the link away\."):
        private_lock(planted / name)
    write_private(planted / name, "text")
    assert (planted / name).read_text() == "text"
    assert ((planted / name).lstat().st_uid, (planted / name).is_symlink()) == (4321, False)
    assert {path.name for path in tmp_path.iterdir()} == {"service", "precious", "roots"}
    assert ((tmp_path / "precious").read_text(), (tmp_path / "precious").stat().st_uid) == ("kept", 0)


@as_root
def test_root_follows_no_link_of_another_users_to_a_folder_of_roots(tmp_path: Path, planted: Path) -> None:
    for write in (lambda file: write_private(file, "text"), private_lock):
        for file in (planted / "folder" / "file", planted / "folder" / "below" / "file"):
            with pytest.raises(NotWritable, match="Move the link away"):
                write(file)
    assert not list((tmp_path / "roots").iterdir())


@as_root
def test_root_follows_links_within_a_folder_and_roots_own_links_to_it(tmp_path: Path, planted: Path) -> None:
    (tmp_path / "link").symlink_to(planted)  # as systemd links /var/lib/NAME to /var/lib/private/NAME
    write_private(tmp_path / "link" / "in", "text")
    private_lock(tmp_path / "link" / "lock")
    assert ((planted / "in").is_symlink(), (planted / "real").read_text()) == (True, "text")
    assert {(planted / path).stat().st_uid for path in ("real", "lock")} == {4321}
