"""The paths of all files and folders, in one place. Independent of their contents."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOME_VARIABLE = "JACKDAW_HOME"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four folders of one user: settings, data, cache (which can be rebuilt), and state such as locks."""

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
    def phrasings(self) -> Path:
        """The folder of the vectors of the forms of questions that rules understand."""
        return self.cache / "phrasings"

    @property
    def scans(self) -> Path:
        """The folder of texts recognised so far in scanned documents that are not yet read to their end."""
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
        """The file whose existence ends a running `jackdaw add`; the button of a notification creates it."""
        return self.state / "add.paused"

    @property
    def awake(self) -> Path:
        """The folder in which each process that keeps a phone awake has a file."""
        return self.state / "awake"

    @property
    def phone_files(self) -> Path:
        """The file with the hashes of the files that `jackdaw phone setup` wrote, JSON."""
        return self.state / "phone.json"

    @property
    def shared(self) -> Path:
        """The folder of web addresses (links) that the user shared from other apps to Jackdaw, a file each."""
        return self.data / "shared"

    @property
    def activity(self) -> Path:
        """The file with the time of the last question, for the background process."""
        return self.state / "activity"

    @property
    def app_report(self) -> Path:
        """The file with the report that is written when the app had to be closed because it stopped responding."""
        return self.state / "app-report.txt"

    @property
    def link(self) -> Path:
        """The file with the address of this device's companion server and the device's access token."""
        return self.config / "link.json"

    @property
    def link_rest(self) -> Path:
        """The file with the time until which a companion server that broke the protocol is not contacted."""
        return self.state / "link-rest.json"

    @property
    def dispatch(self) -> Path:
        """The file with the measured speeds of companion server and device, and the budget spent so far."""
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
        """The file that counts how often answers were written from each public passage, JSON."""
        return self.data / "server" / "passage-uses.json"

    @property
    def server_pipelines(self) -> Path:
        """The file of the measurements of the companion server's pipelines, by model."""
        return self.data / "server" / "pipelines.json"

    def create(self) -> None:
        """Create the four folders, readable only by their owner. Raises NotWritable."""
        from storage.private import private_folder  # here, as its errors name what these paths come from

        for folder in (self.config, self.data, self.cache, self.state):
            private_folder(folder)
