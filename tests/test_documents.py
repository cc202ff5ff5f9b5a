"""The documentation: links lead somewhere, named commands exist, and its tables list all folders of product code
("rooms").
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest

from cloud_server.cli import server
from device_app.cli import jackdaw
from scripts.benchmarks.__main__ import BENCHMARKS
from shared.cli.frame import Lazy

ROOT = Path(__file__).parents[1]
PROGRAMS: dict[str, click.Group] = {"jackdaw": jackdaw, "jackdaw-server": server}
PACKAGES = ("device_app/", "cloud_server/", "models/", "storage/", "shared/")
MOST_WORDS = 1000
LARGEST_PICTURE = 150_000


def _tracked(*patterns: str) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in listed if name and (ROOT / name).exists()]


PAGES = [name for name in _tracked("*.md") if not name.startswith("scripts/sample_life/")]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def _text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def _prose(page: str) -> str:
    return FENCE.sub("", _text(page))


def _anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each Jackdaw command in the page's code blocks and inline code."""
    lines = [line for _, block in FENCE.findall(_text(page)) for line in block.splitlines()]
    prompts = [re.sub(r"^[$#] ", "", line) for line in lines if re.match(r"[$#] ", line)]
    for text in (*prompts, *INLINE.findall(_prose(page))):
        # Quoted words may hold anything; a chain is split into its commands.
        for part in re.split(r"\s&&\s|\|", re.sub(r"\s#.*|…", "", text)):
            try:
                words = shlex.split(part)
            except ValueError:
                words = part.split()
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words and re.fullmatch(r"(.*\.venv/bin/)?jackdaw(-server)?|scripts/[a-z_]+", words[0]):
                yield [words[0].rpartition("bin/")[2], *words[1:]]


def _child(group: click.Group, name: str) -> click.Command | None:
    child = group.get_command(click.Context(group), name)
    return child.load() if isinstance(child, Lazy) else child


def _mistake(words: list[str]) -> str:
    """Return what is wrong with a command; empty if nothing is."""
    program, *arguments = words
    if program == "scripts/bench" and arguments and arguments[0] not in (*BENCHMARKS, "NAME", "--help"):
        return f"no benchmark {arguments[0]}"
    if program.startswith("scripts/"):
        return "" if (ROOT / program).exists() else f"no {program}"
    command: click.Command = PROGRAMS[program]
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        child = _child(command, arguments[0])
        if child is None:
            return f"no command {arguments[0]}"
        command, arguments = child, arguments[1:]
    default = getattr(command, "default", None)
    if isinstance(command, click.Group) and default:
        command = _child(command, default) or command
    known = {"--help", "-h", "--version"}
    known |= {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    unknown = [word for word in arguments if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]
    return f"no option {unknown[0]}" if unknown else ""


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    broken = []
    for groups in LINK.findall(_prose(page)):
        link = groups[0] or groups[1]
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (ROOT / page).parent / target if target else ROOT / page
        if not file.exists() or (anchor and anchor not in _anchors(str(file))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page: str) -> None:
    mistakes = [(shlex.join(words), mistake) for words in _commands(page) if (mistake := _mistake(words))]
    assert mistakes == []


def test_wrong_commands_are_seen() -> None:
    assert _mistake(["jackdaw", "ask", "--nonsense"]) == "no option --nonsense"
    assert _mistake(["jackdaw", "models", "invent"]) == "no command invent"
    assert _mistake(["jackdaw-server", "serve", "--replicas", "2"]) == ""
    assert _mistake(["scripts/bench", "nonsense"]) == "no benchmark nonsense"
    assert _mistake(["scripts/nonsense"]) == "no scripts/nonsense"
    assert len(list(_commands("README.md"))) > 5


def test_the_tables_list_every_room() -> None:
    """Every folder of product code (a "room") is in a table of the documentation; a row may name several rooms."""
    rows = [row for page in PAGES for row in re.findall(r"^\| (`[^|]+/`) \|", _text(page), re.MULTILINE)]
    listed = {folder for row in rows for folder in INLINE.findall(row) if folder.startswith(PACKAGES)}
    held = {f"{parent}/" for name in _tracked("*.py") for parent in Path(name).parents}
    rooms = {folder for folder in held if folder.startswith(PACKAGES)}
    assert rooms - listed == {"device_app/cache/"}  # its two rooms are listed
    assert [folder for folder in listed if not (ROOT / folder).is_dir()] == []


def test_modules_that_are_named_exist() -> None:
    """Every file of the product, the scripts or the tests that a document names by its whole path exists."""
    for page in PAGES:
        if page != "CHANGELOG.md":  # names what was
            named = re.findall(rf"`((?:{'|'.join(PACKAGES)}|scripts/|tests/)[\w/]+\.\w+)`", _prose(page))
            assert [name for name in named if not (ROOT / name).exists()] == [], page


def test_every_figure_has_its_command() -> None:
    """Each benchmark has a section among the documented results."""
    assert set(BENCHMARKS) <= _anchors("scripts/benchmarks/RESULTS.md")


def test_the_front_page_is_short() -> None:
    assert len(_text("README.md").split()) <= MOST_WORDS


def test_pictures_are_shown_small_and_nobodys() -> None:
    pictures = _tracked("device_app/tui/pictures/*")
    shown = {Path(link[0] or link[1]).name for page in PAGES for link in LINK.findall(_prose(page))}
    assert pictures
    for picture in pictures:
        content = (ROOT / picture).read_text("utf-8")
        assert Path(picture).name in shown, picture
        assert len(content.encode()) < LARGEST_PICTURE, picture
        assert not re.search(r"/(?:home|root|Users|tmp|work)/", content), picture


def test_headings_rise_by_one() -> None:
    """No page skips a level of headings, so that its outline is complete."""
    for page in PAGES:
        levels = [len(marks) for marks in re.findall(r"^(#+) ", _prose(page), re.MULTILINE)]
        assert levels[0] == 1, page
        assert all(after <= before + 1 for before, after in pairwise(levels)), page
