"""Downloads weights from a model hub over plain HTTPS: interrupted downloads resume, and hashes are checked.

The hub names a file's SHA-256 in its answer (`X-Linked-Etag`). For an entry without a pinned hash, that sum is trusted
the first time and then stored in the manifest. The hub's own client is not used: for just two requests, it needs a
compiled transfer library that does not exist for phones.
"""

import os
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from models.pull import Progress, check
from shared.errors import PullFailed, WeightsDamaged

ENDPOINT = "https://huggingface.co"
_TIMEOUT_SECONDS = 30
_BLOCK = 1 << 20
_MOVES = 5


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a file on the hub: `owner/repository/file`, at a revision."""

    repository: str
    file: str
    revision: str = "main"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `owner/repository/path/to/file[@revision]`. Raises PullFailed if the text has another form."""
        path, _, revision = text.partition("@")
        parts = path.split("/")
        if len(parts) < 3 or not all(parts) or ".." in parts:
            raise PullFailed(f"{text} is not an address of a model hub. Write it as OWNER/REPOSITORY/FILE.gguf.")
        return cls("/".join(parts[:2]), "/".join(parts[2:]), revision or "main")

    def url(self) -> str:
        """Return the file's URL; HF_ENDPOINT names another hub or a mirror."""
        endpoint = os.environ.get("HF_ENDPOINT", ENDPOINT).rstrip("/")
        quoted = [urllib.parse.quote(part) for part in (self.repository, self.revision, self.file)]
        return f"{endpoint}/{quoted[0]}/resolve/{quoted[1]}/{quoted[2]}"


@dataclass(frozen=True, slots=True)
class Offer:
    """The hub's answer about a file: its URL, its size in bytes and its SHA-256 (None if not given)."""

    url: str
    size: int
    sha256: str | None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that does not follow redirects, because the user's token must not be sent to the target host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def ask(address: Address) -> Offer:
    """Request a file's URL, size and hash from the hub. Raises PullFailed."""
    return _ask(address.url(), _MOVES)


def _ask(url: str, moves: int) -> Offer:
    request = urllib.request.Request(url, method="HEAD")
    if token := os.environ.get("HF_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
            return _offer(url, answer.headers)
    except urllib.error.HTTPError as error:
        error.close()  # its body is not read
        if 300 <= error.code < 400 and (target := error.headers.get("Location")):
            # A redirect within the hub means a renamed repository; one to another host leads to the file's bytes.
            if moves and "X-Linked-Size" not in error.headers and not urllib.parse.urlsplit(target).netloc:
                return _ask(urllib.parse.urljoin(url, target), moves - 1)
            return _offer(urllib.parse.urljoin(url, target), error.headers)
        raise PullFailed(
            f"The hub refused {url} ({error.code} {error.reason}). Check the name; a gated model needs HF_TOKEN."
        ) from error
    except (OSError, HTTPException, ValueError) as error:
        raise PullFailed(f"The hub at {url} cannot be reached ({error}). Check the network and try again.") from error


def fetch(offer: Offer, target: Path, sha256: str | None, progress: Progress) -> str:
    """Download a file of the hub into `target`, resuming an earlier download; return its SHA-256 after checking it.

    Raises PullFailed (the partial file stays for the next try) and WeightsDamaged (the file is deleted).
    """
    expected = sha256 or offer.sha256
    if expected is None:
        raise PullFailed(
            f"The hub gives no SHA-256 for {target.name}, so the download cannot be verified. It was not fetched."
        )
    if offer.sha256 and offer.sha256 != expected:
        raise WeightsDamaged(
            f"{target.stem} has changed on the hub: its SHA-256 is {offer.sha256[:12]}…, not "
            f"{expected[:12]}…. It was not fetched. Ask its publisher, or use a newer Jackdaw."
        )
    have = target.stat().st_size if target.exists() else 0
    if have > offer.size:
        target.unlink()
        have = 0
    if have < offer.size:
        try:
            _download(offer, target, have, progress)
        except (OSError, HTTPException, ValueError) as error:
            raise PullFailed(
                f"The download of {target.name} was interrupted ({error}). Run the same command again to resume it."
            ) from error
    if target.stat().st_size != offer.size:
        raise PullFailed(f"The download of {target.name} was interrupted. Run the same command again to resume it.")
    try:
        check(target, expected, target.name)
    except BaseException:
        target.unlink()
        raise
    return expected


def _download(offer: Offer, target: Path, have: int, progress: Progress) -> None:
    request = urllib.request.Request(offer.url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        opened = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    with opened as answer:
        resumed = answer.status == 206
        done = have if resumed else 0
        with target.open("ab" if resumed else "wb") as stream:
            while block := answer.read1(_BLOCK):  # write at once: received data survives a kill
                done += len(block)
                if done > offer.size:
                    raise ValueError("the hub sent more bytes than announced")
                stream.write(block)
                progress(f"Fetching {target.name}", done, offer.size)


def _offer(url: str, headers: Any) -> Offer:
    size = headers.get("X-Linked-Size") or headers.get("Content-Length")
    etag = (headers.get("X-Linked-Etag") or "").removeprefix("W/").strip('"')
    if size is None or not size.isdecimal():
        raise PullFailed(f"The hub does not give the size of {url}. Try again later.")
    is_hash = len(etag) == 64 and all(digit in "0123456789abcdef" for digit in etag)
    return Offer(url, int(size), etag if is_hash else None)
