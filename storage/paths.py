"""Where everything lives: the one place that knows each file's and folder's name. Knows nothing of their contents."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import NotWritable

if TYPE_CHECKING:
    from filelock import FileLock

HOME_VARIABLE = "JACKDAW_HOME"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four folders of one person: settings, what cannot be made again, what can, and locks."""

    config: Path
    data: Path
    cache: Path
    state: Path

    @classmethod
    def locate(cls, environment: Mapping[str, str]) -> "Paths":
        """The platform's own folders, or all four under JACKDAW_HOME where that is set. Creates nothing."""
        if home := environment.get(HOME_VARIABLE):
            root = Path(home).expanduser().absolute()
            return cls(root / "config", root / "data", root / "cache", root / "state")
        import platformdirs

        folders = platformdirs.PlatformDirs("jackdaw", appauthor=False)
        return cls(folders.user_config_path, folders.user_data_path, folders.user_cache_path, folders.user_state_path)

    @property
    def config_file(self) -> Path:
        """The person's settings, TOML."""
        return self.config / "config.toml"

    @property
    def database(self) -> Path:
        """Documents, passages, vectors, history: SQLite, with its -wal and -shm beside it."""
        return self.data / "jackdaw.db"

    @property
    def weights(self) -> Path:
        """Folder of pulled and derived model files."""
        return self.data / "weights"

    @property
    def kv_slices(self) -> Path:
        """Folder of kept attention states."""
        return self.cache / "kv"

    @property
    def add_lock(self) -> Path:
        """Held by the one process that reads files into the database."""
        return self.state / "add.lock"

    @property
    def daemon_lock(self) -> Path:
        """Held by the one process that works ahead, for as long as it lives."""
        return self.state / "daemon.lock"

    @property
    def daemon_status(self) -> Path:
        """What the process that works ahead does, and what it spent within the hour: JSON."""
        return self.state / "daemon.json"

    @property
    def daemon_paused(self) -> Path:
        """Nothing is worked ahead while this file is there."""
        return self.state / "daemon.paused"

    @property
    def activity(self) -> Path:
        """When the last question was asked, for the process that works ahead."""
        return self.state / "activity"

    @property
    def app_report(self) -> Path:
        """What was known when the app last had to be closed because it no longer answered."""
        return self.state / "app-report.txt"

    @property
    def link(self) -> Path:
        """The companion server that this device is connected to, and its token."""
        return self.config / "link.json"

    @property
    def link_rest(self) -> Path:
        """Until when a companion server that broke the protocol is left alone."""
        return self.state / "link-rest.json"

    @property
    def dispatch(self) -> Path:
        """What is known of the companion server and of this device: times, lengths, budget spent."""
        return self.state / "dispatch.json"

    @property
    def server_config_file(self) -> Path:
        """The companion server's settings."""
        return self.config / "server.toml"

    @property
    def server_tokens(self) -> Path:
        """Who may use the companion server."""
        return self.data / "server" / "tokens.json"

    @property
    def server_pairing(self) -> Path:
        """The code that a device may be paired with, while there is one."""
        return self.data / "server" / "pairing.json"

    @property
    def server_certificate(self) -> Path:
        """The companion server's own certificate, with its key."""
        return self.data / "server" / "certificate.pem"

    @property
    def server_running(self) -> Path:
        """Where the companion server listens, while it runs."""
        return self.state / "server.json"

    @property
    def server_index(self) -> Path:
        """The public corpus that the companion server searches."""
        return self.data / "server" / "index"

    def create(self) -> None:
        """Create the four folders, closed to everybody else. Raises NotWritable."""
        for folder in (self.config, self.data, self.cache, self.state):
            private_folder(folder)


def private_folder(folder: Path) -> Path:
    """Create the folder and its missing parents with mode 0700; one that exists keeps its mode. Raises NotWritable.

    Here, and in each function below, what root makes in another user's folder becomes that user's (`hand_over`).
    """
    with to_be_written(f"make the folder {folder}"):
        _refuse_misleading(folder)
        if not folder.is_dir():
            private_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            hand_over(folder, folder.parent)
    return folder


def _refuse_misleading(folder: Path) -> None:
    """As root, follow no user's link to a folder that is not that user's. Raises OSError."""
    for parent in (folder, *folder.parents) if _is_root() else ():
        if (
            parent.is_symlink()
            and (owner := parent.lstat().st_uid) != 0
            and parent.exists()
            and parent.stat().st_uid != owner
        ):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def hand_over(made: Path | int, folder: Path) -> None:
    """Give what root has made in another user's folder, by its path or descriptor, to that user. Raises OSError.

    An administrator works on the folder of a service that runs as another user, which could not read root's files. Only
    what is root's and has no other name is given: whoever owns the folder may have put a link there.
    """
    if not _is_root():
        return
    facts, owner = made.lstat() if isinstance(made, Path) else os.fstat(made), folder.stat()
    if facts.st_uid == 0 != owner.st_uid and (facts.st_nlink == 1 or stat.S_ISDIR(facts.st_mode)):
        os.chown(made, owner.st_uid, owner.st_gid, follow_symlinks=not isinstance(made, Path))


def private_lock(file: Path) -> "FileLock":
    """A lock on the file, which is made with mode 0600 and may be no link. Raises NotWritable."""
    from filelock import FileLock

    folder = private_folder(file.parent)
    with to_be_written(f"write {file}"):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            hand_over(descriptor, folder)
        finally:
            os.close(descriptor)
    return FileLock(file, mode=0o600)


def write_private(file: Path, text: str) -> None:
    """Replace the file's content in one step, mode 0600. A link stays a link: its target is replaced. But where root
    writes in another user's folder, a link that leads out of it is itself replaced.

    Whoever reads it meanwhile, or after a power cut, finds either the old content or the new, whole.
    Raises NotWritable.
    """
    with to_be_written(f"write {file}"):
        _replace(_target(file), text)


@contextmanager
def to_be_written(deed: str) -> Iterator[None]:
    """Raise NotWritable, which names the deed ("write /a/file") and a way out, for an OSError."""
    try:
        yield
    except OSError as error:
        raise NotWritable(f"Cannot {deed}: {_advice(error)}") from error


def _target(file: Path) -> Path:
    """The file that is replaced by writing this one. Raises OSError."""
    folder = private_folder(file.parent).resolve()
    target = file.resolve()
    if _is_root() and folder.stat().st_uid != 0 and not target.is_relative_to(folder):
        return folder / file.name
    return target


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _replace(target: Path, text: str) -> None:
    import tempfile

    folder = private_folder(target.parent)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{target.name}.")  # mode 0600
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            hand_over(descriptor, folder)
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def _advice(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}. Make room on its disk."
    if error.errno == errno.EISDIR:
        return f"{reason}, where a file belongs. Move it away."
    if error.errno == errno.ELOOP:
        return "a link is in its place or leads to it. Move the link away."
    return f"{reason}. Check who may write there, or choose another folder ({HOME_VARIABLE} for Jackdaw's own)."
