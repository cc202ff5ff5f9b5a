"""Compares the layouts of llama.cpp's structs, as Jackdaw reads them in the headers, with those of the C compiler.

The headers come from source distributions of llama-cpp-python, which pip downloads (some 70 MB each). Only the code
that pip runs to read their metadata is run, and nothing is kept without --keep. With --write, the result replaces the
table in models/LAYOUTS.md.
"""

import argparse
import ctypes
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from models.c_declarations import Field, HeaderError
from models.c_header import Header
from models.c_types import CTypes
from models.llama_calls import declarations
from models.llama_header import HEADERS
from scripts.places import step

RELEASES = {
    "0.3.10": "2025-07-03",
    "0.3.16": "2025-08-15",
    "0.3.19": "2026-03-25",
    "0.3.23": "2026-05-11",
    "0.3.27": "2026-06-07",
    "0.3.30": "2026-06-16",
    "0.3.34": "2026-07-12",
    "0.3.36": "2026-10-01",
}
"""The compared releases of llama-cpp-python, each with the day on which PyPI published its source distribution."""

TABLE = Path(__file__).parent.parent / "models" / "LAYOUTS.md"

_EXAMPLES = """Examples:
  scripts/layouts                                  eight releases, half a gigabyte of downloads
  scripts/layouts 0.3.36 --json                    one release
  scripts/layouts --keep /tmp/sdists --write       keep the downloads, write models/LAYOUTS.md

Exit codes: 0 all layouts are equal, 1 some differ, 2 usage, 3 no compiler, or a release cannot be downloaded"""

Layout = Mapping[str, int]
"""The layout of a struct: its size under the key "", and the offset of each field under its name, in bytes."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result for one release: the numbers of structs and fields with equal layouts, and the differences.

    `unread` are structs that the reader refuses; `fits` is "yes", or "no" and why Jackdaw would not use this release.
    """

    release: str
    state_version: int
    context_bytes: int
    structs: int
    fields: int
    different: tuple[str, ...]
    unread: tuple[str, ...]
    fits: str


def compare(release: str, folders: Sequence[Path]) -> Comparison:
    """Compare the layouts of all structs that llama.h, ggml.h and ggml-backend.h in the given folders declare."""
    header = Header(*(_header_file(name, folders).read_text("utf-8") for name in HEADERS))
    layouts, unread = read(header)
    by_compiler = compiled(layouts, folders)
    different = tuple(
        f"{name}: read {layout}, compiled {by_compiler[name]}"
        for name, layout in layouts.items()
        if layout != by_compiler[name]
    )
    fields = sum(len(layout) - 1 for layout in layouts.values())
    version, size = header.constant("LLAMA_STATE_SEQ_VERSION"), layouts["llama_context_params"][""]
    try:
        declarations(header)
        fits = "yes"
    except HeaderError as error:
        fits = f"no: {error}"
    return Comparison(release, version, size, len(layouts), fields, different, tuple(unread), fits)


def read(header: Header) -> tuple[dict[str, Layout], list[str]]:
    """Return the layouts of a header's structs according to ctypes, and the names of structs that the reader
    refuses.
    """
    fields: dict[str, tuple[Field, ...]] = {}
    layouts: dict[str, Layout] = {}
    unread = []
    names = header.names("struct")
    for name in names:
        with suppress(HeaderError):
            fields[name] = header.struct(name)
    types = CTypes(fields)
    for name in names:
        try:
            struct = types.type(name)
            layouts[name] = {"": ctypes.sizeof(struct)} | {
                field.name: getattr(struct, field.name).offset for field in fields[name]
            }
        except HeaderError:
            unread.append(name)
    return layouts, unread


def compiled(layouts: Mapping[str, Layout], folders: Sequence[Path]) -> dict[str, Layout]:
    """Return the layouts of the given structs according to the C compiler. Raises CalledProcessError."""
    text = "".join(_header_file(name, folders).read_text("utf-8") for name in HEADERS)
    lines = []
    for name, layout in layouts.items():
        spelled = f"struct {name}" if re.search(rf"\bstruct\s+{name}\b", text) else name
        lines.append(f'printf("{name}  %zu\\n", sizeof({spelled}));')
        lines += [f'printf("{name} {field} %zu\\n", offsetof({spelled}, {field}));' for field in layout if field]
    includes = "".join(f"#include <{name}>\n" for name in (*HEADERS, "stddef.h", "stdio.h"))
    program = f"{includes}int main(void) {{\n{chr(10).join(lines)}\n}}\n"
    with tempfile.TemporaryDirectory() as room:
        source, binary = Path(room, "layouts.c"), Path(room, "layouts")
        source.write_text(program, "utf-8")
        subprocess.run(["cc", "-w", *(f"-I{folder}" for folder in folders), "-o", binary, source], check=True)
        printed = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    result: dict[str, dict[str, int]] = {}
    for line in printed.splitlines():
        name, field, number = line.split(" ")
        result.setdefault(name, {})[field] = int(number)
    return dict(result)


def _header_file(name: str, folders: Sequence[Path]) -> Path:
    return next(folder / name for folder in folders if (folder / name).is_file())


def fetch(release: str, kept: Path, room: Path) -> list[Path]:
    """Download a release unless the folder `kept` holds it; unpack it in `room` and return the folders of its
    headers.
    """
    if not (archive := next(kept.glob(f"llama_cpp_python-{release}.tar.gz"), None)):
        step(f"downloading llama-cpp-python {release}")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"]
        subprocess.run([*command, "--dest", kept, f"llama-cpp-python=={release}"], check=True)
        archive = next(kept.glob(f"llama_cpp_python-{release}.tar.gz"))
    folders = [room / release / "include", room / release / "ggml"]
    for folder in folders:
        folder.mkdir(parents=True)
    with tarfile.open(archive) as opened:
        for member in opened:
            where = re.search(r"/vendor/llama\.cpp/(ggml/)?include/([\w-]+\.h)$", member.name)
            if where and (file := opened.extractfile(member)):
                (folders[1] if where[1] else folders[0]).joinpath(where[2]).write_bytes(file.read())
    return folders


def table(results: Sequence[Comparison], day: str) -> str:
    """Return the results as a Markdown document."""
    rows = [
        f"| {result.release} | {RELEASES.get(result.release, '?')} | {result.state_version} | {result.context_bytes} | "
        f"{result.structs} | {result.fields} | {len(result.different)} | {result.fits} |"
        for result in results
    ]
    compiler = subprocess.run(["cc", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    unread = sorted({name for result in results for name in result.unread})
    lines = [
        "# Layouts of llama.cpp's structs",
        "",
        "What `models/c_header.py` reads in `llama.h`, `ggml.h` and `ggml-backend.h`, against sizes and offsets of the",
        f"compiler {compiler}: `scripts/layouts --write`, {day}.",
        "The headers are those in the source distributions of llama-cpp-python, `published` the days on which PyPI got",
        "these. `state` is the version of serialised attention states, `size` the bytes of `llama_context_params`.",
        "",
        "| llama-cpp-python | published | state | size | structs | fields | different | usable by Jackdaw |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        f"Structs that Jackdaw does not read, and does not need: {', '.join(f'`{name}`' for name in unread)}.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. For usage errors argparse exits with code 2."""
    parser = argparse.ArgumentParser(
        prog="scripts/layouts",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("release", nargs="*", default=tuple(RELEASES), metavar="VERSION", help="of llama-cpp-python")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the downloads in this folder, and use those already there"
    )
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object as the last line")
    given = parser.parse_args(arguments)
    if not shutil.which("cc"):
        print("There is no C compiler (cc) to compare with. Install one, such as gcc.", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as room:
        kept = given.keep or Path(room)
        kept.mkdir(parents=True, exist_ok=True)
        results = []
        for release in given.release:
            try:
                folders = fetch(release, kept, Path(room))
            except subprocess.CalledProcessError:
                print(
                    f"llama-cpp-python {release} cannot be downloaded. Check the version and the network.",
                    file=sys.stderr,
                )
                return 3
            results.append(compare(release, folders))
            step(f"{release}: {results[-1].structs} structs, {len(results[-1].different)} different")
    text = table(results, f"{datetime.now(UTC):%Y-%m-%d}")
    if given.write:
        TABLE.write_text(text, "utf-8")
    print(json.dumps({"releases": [asdict(result) for result in results]}) if given.as_json else text)
    return int(any(result.different for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
