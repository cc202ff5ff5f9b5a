"""The paths of all files and folders, in one place. Knows nothing of their contents."""

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
    """The four folders of one user: settings, data, cache (can be rebuilt), and state such as locks."""

    config: Path
    data: Path
    cache: Path
    state: Path

    @classmethod
    def locate(cls, environment: Mapping[str, str]) -> "Paths":
        """Return the platform's standard folders, or four folders under JACKDAW_HOME if it is set. Creates nothing."""
        if home := environment.get(HOME_VARIABLE):
            root = Path(home).expanduser().absolute()
            return cls(root / "config", root / "data", root / "cache", root / "state")
        import platformdirs

        folders = platformdirs.PlatformDirs("jackdaw", appauthor=False)
        return cls(folders.user_config_path, folders.user_data_path, folders.user_cache_path, folders.user_state_path)

    @property
    def config_file(self) -> Path:
        """The user's settings file, TOML."""
        return self.config / "config.toml"

    @property
    def database(self) -> Path:
        """The SQLite database of documents, passages, vectors and history, with -wal and -shm files beside it."""
        return self.data / "jackdaw.db"

    @property
    def weights(self) -> Path:
        """The folder of downloaded and derived model files."""
        return self.data / "weights"

    @property
    def kv_slices(self) -> Path:
        """The folder of cached KV states."""
        return self.cache / "kv"

    @property
    def scans(self) -> Path:
        """The folder of texts recognised on pages of scans that are not yet read to the end."""
        return self.cache / "scans"

    @property
    def add_lock(self) -> Path:
        """The lock file of the one process that reads files into the database."""
        return self.state / "add.lock"

    @property
    def daemon_lock(self) -> Path:
        """The lock file of the background process (the daemon), held for its lifetime."""
        return self.state / "daemon.lock"

    @property
    def daemon_status(self) -> Path:
        """The file with the background process's status and its use of resources within the last hour, JSON."""
        return self.state / "daemon.json"

    @property
    def typing_spent(self) -> Path:
        """The file with the tokens and joules spent within the last hour on reading during typing, JSON."""
        return self.state / "typing.json"

    @property
    def daemon_paused(self) -> Path:
        """The file whose existence pauses background work."""
        return self.state / "daemon.paused"

    @property
    def add_paused(self) -> Path:
        """The file whose existence ends a run of `jackdaw add`, which a notification's button makes."""
        return self.state / "add.paused"

    @property
    def awake(self) -> Path:
        """The folder of those who keep a phone awake."""
        return self.state / "awake"

    @property
    def phone_files(self) -> Path:
        """The file with the hashes of what `jackdaw phone setup` wrote, JSON."""
        return self.state / "phone.json"

    @property
    def shared(self) -> Path:
        """The folder of links that other apps shared to Jackdaw."""
        return self.data / "shared"

    @property
    def activity(self) -> Path:
        """The file with the time of the last question, for the background process."""
        return self.state / "activity"

    @property
    def app_report(self) -> Path:
        """The report file written when the app last had to be closed because it stopped responding."""
        return self.state / "app-report.txt"

    @property
    def link(self) -> Path:
        """The file with this device's companion server and its token."""
        return self.config / "link.json"

    @property
    def link_rest(self) -> Path:
        """The file with the time until which a companion server that broke the protocol is not contacted."""
        return self.state / "link-rest.json"

    @property
    def dispatch(self) -> Path:
        """The file with the measured speeds of companion server and device, and the budget spent."""
        return self.state / "dispatch.json"

    @property
    def dispatch_spent(self) -> Path:
        """The file with the joules and the money that today's answers took, JSON."""
        return self.state / "dispatch-spent.json"

    @property
    def server_config_file(self) -> Path:
        """The companion server's settings file."""
        return self.config / "server.toml"

    @property
    def server_tokens(self) -> Path:
        """The file of the companion server's valid tokens."""
        return self.data / "server" / "tokens.json"

    @property
    def server_pairing(self) -> Path:
        """The file of the current pairing code, if there is one."""
        return self.data / "server" / "pairing.json"

    @property
    def server_certificate(self) -> Path:
        """The file of the companion server's self-signed certificate, with its key."""
        return self.data / "server" / "certificate.pem"

    @property
    def server_running(self) -> Path:
        """The file with the companion server's address while it runs."""
        return self.state / "server.json"

    @property
    def server_index(self) -> Path:
        """The folder of the public corpus that the companion server searches."""
        return self.data / "server" / "index"

    @property
    def server_states(self) -> Path:
        """The folder of attention states of public passages, computed ahead for the companion server."""
        return self.cache / "server-states"

    @property
    def server_states_lock(self) -> Path:
        """The lock file of the one process that computes attention states ahead."""
        return self.state / "server-states.lock"

    @property
    def server_passage_uses(self) -> Path:
        """The file of how often answers were written from each public passage, JSON."""
        return self.data / "server" / "passage-uses.json"

    @property
    def server_pipelines(self) -> Path:
        """The file of the measurements of the companion server's pipelines, by model."""
        return self.data / "server" / "pipelines.json"

    def create(self) -> None:
        """Create the four folders, readable only by their owner. Raises NotWritable."""
        for folder in (self.config, self.data, self.cache, self.state):
            private_folder(folder)


def private_folder(folder: Path) -> Path:
    """Create the folder and its missing parents with mode 0700; an existing folder keeps its mode. Raises NotWritable.

    Here and in the functions below, files that root creates in another user's folder become that user's (`hand_over`).
    """
    with to_be_written(f"make the folder {folder}"):
        _refuse_misleading(folder)
        if not folder.is_dir():
            private_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            hand_over(folder, folder.parent)
    return folder


@contextmanager
def private_content(folder: Path) -> Iterator[None]:
    """Create the folder as `private_folder` does, for whatever the block writes into it. Raises NotWritable."""
    private_folder(folder)
    yield
    for made in folder.rglob("*"):
        hand_over(made, folder)


def _refuse_misleading(folder: Path) -> None:
    """As root, refuse a user's link to a folder that the user does not own. Raises OSError."""
    for parent in (folder, *folder.parents) if _is_root() else ():
        if (
            parent.is_symlink()
            and (owner := parent.lstat().st_uid) != 0
            and parent.exists()
            and parent.stat().st_uid != owner
        ):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def hand_over(made: Path | int, folder: Path) -> None:
    """Give a file that root created in another user's folder, by its path or descriptor, to that user. Raises OSError.

    An administrator may work in the folder of a service that runs as another user and could not read root's files. Only
    files of root with a single name are given away, as the folder's owner may have put a link there.
    """
    if not _is_root():
        return
    facts, owner = made.lstat() if isinstance(made, Path) else os.fstat(made), folder.stat()
    if facts.st_uid == 0 != owner.st_uid and (facts.st_nlink == 1 or stat.S_ISDIR(facts.st_mode)):
        os.chown(made, owner.st_uid, owner.st_gid, follow_symlinks=not isinstance(made, Path))


def private_lock(file: Path) -> "FileLock":
    """Return a lock on the file, created with mode 0600; the file may not be a link. Raises NotWritable."""
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
    """Replace the file's content atomically, mode 0600. The target of a link is replaced, but if root writes in another
    user's folder, a link that leads out of the folder is itself replaced.

    Readers see either the old or the new content, even after a power cut. Raises NotWritable.
    """
    with to_be_written(f"write {file}"):
        _replace(_target(file), text)


@contextmanager
def to_be_written(deed: str) -> Iterator[None]:
    """Convert an OSError in the block to NotWritable, which names the deed ("write /a/file") and a remedy."""
    try:
        yield
    except OSError as error:
        raise NotWritable(f"Cannot {deed}: {_advice(error)}") from error


def _target(file: Path) -> Path:
    """Return the file that writing to `file` replaces. Raises OSError."""
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
        return f"{reason}, but a file belongs here. Move the folder away."
    if error.errno == errno.ELOOP:
        return "a symbolic link is in the path. Move the link away."
    return f"{reason}. Check the folder's permissions, or choose another folder ({HOME_VARIABLE} sets Jackdaw's own)."
