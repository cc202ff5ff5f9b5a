"""The wording of facts that the command line and the app share."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shared.printable import counted

if TYPE_CHECKING:
    from device_app.commands.search_results import FileResult, Results
    from device_app.companion.dispatch.day import DayLimits, DaySpent


@dataclass(frozen=True, slots=True)
class OriginWords:
    """The words for one origin of an answer: the app's badge, the line below an answer, and that of `jackdaw why`."""

    badge: str
    line: str
    sentence: str


ORIGINS = {
    "qa_bank": OriginWords("answered before", "answered before", "with a saved answer"),
    "rule": OriginWords("no model", "by a rule, no model", "by a rule, without a model"),
    "device": OriginWords("device", "", "on this device"),
    "cloud": OriginWords("server", "the server", "by the server"),
    "migrated": OriginWords("moved", "moved", "by both sides, one after the other"),
    "aggregated": OriginWords("together", "together", "by both sides"),
}
"""The words for each value of an answer's `origin`, as `ask --json` prints it."""

KINDS_READ: dict[str, tuple[str, ...]] = {
    "notes": ("txt", "md", "org", "html"),
    "documents": ("pdf", "docx", "odt", "rtf", "epub", "pptx", "odp"),
    "tables": ("csv", "xlsx", "ods"),
    "mails": ("eml", "mbox", "Maildir"),
    "calendars": ("ics",),
    "contacts": ("vcf",),
    "exported chats": ("txt", "md", "json", "jsonl"),
}
"""The kinds of files that are read, each with its suffixes, for somebody whose folder has none of them."""

NETWORK = ("Network", "metered: a token of the server also costs what link.price_mb says")
"""The label and the text of the row shown if the network is metered."""

STEPS = {"in vain": "no answer"}
"""Labels to show for steps in an answer's trace whose own names are unclear to people; scripts rely on the names."""


_SLIDES, _SHEETS = (".pptx", ".odp"), (".xlsx", ".xlsm", ".ods")


def place_in(path: str, line: int | None, page: int | None) -> str:
    """Return where in a file a passage begins: "page 3", "slide 3", "row 3", "line 3", or "" if that is unknown."""
    if page is not None:
        return f"{'slide' if path.lower().endswith(_SLIDES) else 'page'} {page}"
    if line is not None:
        return f"{'row' if path.lower().endswith(_SHEETS) else 'line'} {line}"
    return ""


def local_time(moment: str) -> str:
    """Return an ISO 8601 time with a zone as local day and minute: "2026-10-05 14:30"."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def spent_today(spent: "DaySpent", limits: "DayLimits") -> str:
    """Return a sentence about the energy and money that today's answers took, and what is left of the day's budgets."""
    joules, money = limits.left(spent)
    left_joules = "" if joules is None else f" ({joules:,.0f} left of link.day_joules)"
    left_money = "" if money is None else f" ({money:.4g} left of link.day_money)"
    return (
        f"Today's answers took {spent.joules:,.0f} joules on this device{left_joules} and {spent.money:.4g} in your "
        f"currency on the server{left_money}."
    )


def policy_row(basis: Mapping[str, Any]) -> tuple[str, str]:
    """Return the label and the text of the row that shows the rule for whether device or server answers.

    `basis` holds the facts of that decision, see `Weighed.basis`.
    """
    name, rule = basis["policy"]["name"], basis["policy"]["rule"]
    return "Policy", f"{'DiSCo’s' if name == 'paper' else name}: {rule} (link.policy)"


def joule(basis: Mapping[str, Any]) -> str:
    """Return the price of a joule of this device's energy in words, and the reason for it."""
    rate, why = basis["exchange_rate"]["per_joule"], basis["exchange_rate"]["reason"]
    return f"a joule costs {rate:.2g} in your currency: {why}" if rate else f"a joule costs {why}"


def basis_rows(basis: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows, each a label and a text, that show why this device or the server started to write an answer."""
    yield policy_row(basis)
    yield "Energy", joule(basis)
    if basis["metered"]:
        yield NETWORK


def drawn_from(origin: str, sides: Collection[str]) -> str:
    """Return whose passages this device wrote an answer from: "from both", or "from the server's passages".

    Return "" if they are the person's own alone, or if the device did not write the answer. `sides` says, for each
    passage, whether it is the device's or the server's.
    """
    if origin != "device" or "server" not in sides:
        return ""
    return "from both" if "device" in sides else "from the server's passages"


def gains(record: Mapping[str, Any]) -> list[str]:
    """Describe what made an answer faster, a line each: passages read while its question was typed, and drafting
    (speculative decoding).
    """
    trace, lines = record["trace"], []
    if read := trace.get("read_while_typing"):
        took = f"{read['tokens']:,} tokens in {read['ms'] / 1000:.1f} s"
        lines.append(f"read while you typed: {counted(read['passages'], 'passage')}, {took}; {read['served']} used")
    if drafts := trace.get("drafts"):
        lines += _drafted(drafts)
    return lines


def _drafted(drafts: Mapping[str, Any]) -> Iterator[str]:
    """Describe the gain from drafting (speculative decoding), a draft model's part, and why drafting stopped; nothing
    without a gain.
    """
    model = drafts.get("model") or {}  # answers of earlier versions have none
    if drafts["accepted"]:
        share = f"{drafts['accepted']} of {drafts['drafted']} drafted tokens were right"
        passes = f", {drafts['tokens_per_pass']:.1f} tokens a pass" if "tokens_per_pass" in drafts else ""
        faster = f", written about {drafts['gain']:.1f} times as fast" if drafts["gain"] >= 1.05 else ""
        yield f"drafted: {share}{passes}{faster}"
    if model.get("name"):
        share = f"{model['accepted']} of {model['drafted']} right"
        yield f"drafted by {model['name']}: {share}, in {model['ms'] / 1000:.1f} s with {model['read']:,} tokens read"
    if model.get("failed"):
        yield model["failed"]


def search_summary(results: "Results") -> list[str]:
    """Return how a search was understood, and how many documents it found, a line each."""
    lines = []
    if results.corrections:
        each = (f"“{each.used}” instead of “{each.typed}”" for each in results.corrections)
        lines.append(f"searched for {', '.join(each)}")
    lines += results.notes
    if results.documents:
        more = "" if results.is_counted else "at least "
        words = "" if results.has_all or not results.search.has_words else " with some of the words; none has all"
        lines.append(f"{more}{counted(results.documents, 'document')}{words}")
    return lines


def place_of(result: "FileResult") -> str:
    """Return the place of a search result: its path, page or line, and the number of further matching passages."""
    return f"{result.passage.path}{position_of(result)}"


def position_of(result: "FileResult") -> str:
    """Return a search result's position in its file, to follow the file's name, and the number of further matches."""
    passage = result.passage
    begins = place_in(passage.path, passage.line, passage.page)
    position = f", {begins}" if begins else ""
    return position + (f" (and {counted(result.others, 'more passage')})" if result.others else "")


def nothing_to_read(folders: Collection[str]) -> list[str]:
    """Return what to tell somebody whose paths hold no file that is read: which files are, and what to do next."""
    kinds = ", ".join(f"{kind} ({', '.join(suffixes)})" for kind, suffixes in KINDS_READ.items())
    kept = "This folder is" if len(folders) == 1 else "These folders are"
    again = [f"{kept} remembered: `jackdaw add` reads what you put there later."] if folders else []
    return [
        f"No file to read. Jackdaw reads {kinds}.",
        *again,
        "Try another folder, for example: jackdaw add ~/Documents",
    ]
