"""All actions of the app, each declared once; keys, slash commands, palette, help and footer are built from them.

Pure: uses no widget. For example, the chat's action with the id `regen` is implemented by `ChatScreen.action_regen`.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.errors import UsageError


class Place(StrEnum):
    """The screen that implements an action; actions of `APP` work on every screen."""

    APP = "app"
    CHAT = "chat"
    KNOWLEDGE = "knowledge"
    CACHE = "cache"
    SETTINGS = "settings"
    MODELS = "models"
    SEARCH = "search"


class AppState(StrEnum):
    """The possible states of the app; an action lists the states that it needs."""

    ANSWERING = "answering"
    IDLE = "idle"
    ANSWERED = "answered"  # a finished answer is selected
    MISSING = "missing"  # model files are missing
    FETCHING = "fetching"  # a model is being downloaded
    READING = "reading"  # the transcript has the focus, not the composer
    INGESTING = "ingesting"  # files are being read
    PAUSED = "paused"  # the reading of files is paused
    RESTING = "resting"  # the background work is paused
    HELD = "held"  # the list of files has a row to open or remove


@dataclass(frozen=True, slots=True)
class Action:
    """An action that the person can start.

    Keys of a screen other than the chat work only there; its commands open that screen first. `slash` is the command,
    followed by the argument that it `takes`. `key` works everywhere on the screen, `letter` while the transcript has
    the focus. With `hint`, the footer shows the key with this word while all states in `needs` hold, or with the word
    `again` while repeating the action would undo it.
    """

    id: str
    slash: str
    title: str
    help: str
    place: Place = Place.CHAT
    takes: str = ""
    key: str = ""
    letter: str = ""
    hint: str = ""
    again: str = ""
    needs: frozenset[AppState] = frozenset()

    @property
    def call(self) -> str:
        """The Textual action, such as "screen.regen", that the action's key or a click on it runs."""
        if self.place is Place.CHAT:
            return f"screen.perform('{self.id}')"
        return f"{'app' if self.place is Place.APP else 'screen'}.{self.id}"


_ANSWERED = frozenset({AppState.ANSWERED})
_SETTLED = frozenset({AppState.ANSWERED, AppState.IDLE})

ACTIONS = (
    Action("stop", "stop", "Stop", "Stop the answer; the text written so far stays.", key="escape", hint="stop",
           needs=frozenset({AppState.ANSWERING})),
    Action("fetch", "fetch", "Download the models", "Download the missing model files.", key="ctrl+g", hint="fetch",
           needs=frozenset({AppState.MISSING})),
    Action("new", "new", "New conversation", "Begin a new conversation.", key="ctrl+n", letter="n", hint="new"),
    Action("conversations", "conversations", "Conversations", "List earlier conversations, or search in them alone.",
           takes="[words]", key="ctrl+o", letter="f", hint="earlier"),
    Action("sources", "sources", "Open a source", "Show a source of the answer within its file.",
           takes="[number]", key="ctrl+s", letter="s", hint="sources", needs=_ANSWERED),
    Action("regen", "regen", "Answer again", "Answer the last question again.", key="ctrl+r", letter="r", hint="again",
           needs=_SETTLED),
    Action("together", "together", "Ask together", "Write the answer jointly with the companion server; "
    "drafts of it are sent.",
           takes="[question]", letter="g", needs=frozenset({AppState.IDLE})),
    Action("model_only", "model-only", "Ask the model alone", "Let the model answer alone: no file is read, no source "
    "is given.",
           takes="[question]", letter="o", needs=frozenset({AppState.IDLE})),
    Action("send", "send", "Send to the server", "Let the companion server's model answer too, even if the "
    "request names your files; asks first.",
           takes="[question]", letter="p", needs=frozenset({AppState.IDLE})),
    Action("edit", "edit", "Edit the question", "Change a question and ask it again; later turns are deleted.",
           letter="e", needs=_SETTLED),
    Action("copy", "copy", "Copy", "Copy the answer, or the code in it.", takes="[code]", letter="y", hint="copy",
           needs=frozenset({AppState.ANSWERED, AppState.READING})),
    Action("copy_code", "copy code", "Copy the code", "Copy the code in the answer.", letter="c", needs=_ANSWERED),
    Action("why", "why", "Why this answer", "Show where the time went and what decided the answer.", letter="w",
           hint="why", needs=frozenset({AppState.ANSWERED, AppState.READING})),
    Action("guess", "guess", "The model's guess", "Show or hide the model's guess that your files do not support.",
           letter="u", needs=_ANSWERED),
    Action("wrong", "wrong", "Mark as wrong", "Never give this answer to this question again; repeat to undo.",
           letter="i", needs=_SETTLED),
    Action("export", "export", "Export", "Save this conversation to a Markdown or JSON file in this folder.",
           takes="[md|json]", letter="x", needs=_ANSWERED),
    Action("forget", "forget", "Forget this conversation", "Delete this conversation for good.", letter="d",
           needs=_SETTLED),
    Action("remove", "remove", "Remove from the knowledge",
           "Forget a folder or file and its passages; your files stay.", place=Place.KNOWLEDGE, letter="d",
           hint="remove", needs=frozenset({AppState.HELD})),
    Action("filter", "filter", "Filter the files", "List the folders and files whose names contain these words.",
           place=Place.KNOWLEDGE, takes="[words]", letter="/", hint="filter", needs=frozenset({AppState.HELD})),
    Action("update", "update", "Read changed files", "Read new and changed files in the folders you added.",
           place=Place.KNOWLEDGE, letter="u", hint="update", needs=frozenset({AppState.HELD})),
    Action("pause", "pause", "Pause reading", "Pause reading files; passages read so far stay.",
           place=Place.KNOWLEDGE, letter="p", hint="pause", needs=frozenset({AppState.INGESTING})),
    Action("resume", "resume", "Continue reading", "Continue reading files after a pause.",
           place=Place.KNOWLEDGE, letter="r", hint="continue", needs=frozenset({AppState.PAUSED})),
    Action("search", "search", "Search", "Search in files and conversations by words and filters.", place=Place.APP,
           takes="[words]", key="ctrl+f"),
    Action("side", "side", "Where to search", "Search in files, in conversations, or in both.", place=Place.SEARCH,
           takes="[files|conversations|both]", key="ctrl+o", hint="where"),
    Action("order", "order", "Order of results", "Sort the results by relevance or by date.", place=Place.SEARCH,
           takes="[relevance|date]", key="ctrl+s", hint="order"),
    Action("add", "add", "Add files", "Read a file, or a folder and everything in it.", place=Place.APP, takes="[path]",
           letter="a", hint="add"),
    Action("knowledge", "knowledge", "Knowledge", "Files that were read, and files that "
    "could not be read.", place=Place.APP,
           key="ctrl+k", letter="l"),
    Action("settings", "settings", "Settings", "Every setting, its effect and where its value comes from.",
           place=Place.APP, takes="[words]", key="ctrl+t"),
    Action("reset", "reset", "Back to the default", "Reset the selected setting to its default.", place=Place.SETTINGS,
           key="ctrl+b", hint="default"),
    Action("model", "model", "Models", "Choose the model that answers; see what memory each needs.", place=Place.APP,
           takes="[name]", letter="m"),
    Action("cancel", "cancel", "Stop the download", "Stop downloading a model.", place=Place.MODELS, key="ctrl+x",
           hint="stop download", needs=frozenset({AppState.FETCHING})),
    Action("private", "private", "Private", "What data left this device, and what "
    "data may leave.", place=Place.APP, letter="v"),
    Action("cache", "cache", "Cache", "Saved answers and attention states, what they saved, suggested questions.",
           place=Place.APP, key="ctrl+l", letter="b"),
    Action("cache_overview", "cache overview", "Overview of the cache", "Savings, background work and space "
    "of the caches.",
           place=Place.CACHE, letter="o"),
    Action("cache_answers", "cache answers", "Saved answers", "List the saved answers, or those with these words.",
           place=Place.CACHE, takes="[words]", letter="a", hint="answers"),
    Action("cache_states", "cache states", "Saved states", "List the passages whose attention states are saved.",
           place=Place.CACHE, takes="[words]", letter="s", hint="states"),
    Action("ahead_now", "ahead now", "Prepare answers now", "Prepare answers until you ask something; repeat to stop.",
           place=Place.CACHE, letter="w", hint="work now"),
    Action("ahead_pause", "ahead pause", "Pause background work", "Pause or resume background work.",
           place=Place.CACHE, letter="p", hint="pause", again="resume"),
    Action("limit", "limit", "Limit", "Limit the megabytes of saved answers (qa) or states (kv).",
           place=Place.CACHE, takes="[qa|kv MB]", letter="l", hint="limit"),
    Action("clear", "clear", "Clear the cache", "Delete saved answers, states or both; your files stay.",
           place=Place.CACHE, takes="[answers|states]", letter="c", hint="clear"),
    Action("theme", "theme", "Next theme", "Switch between dark, light and "
    "high contrast.", place=Place.APP, takes="[name]",
           letter="t"),
    Action("help", "help", "Help", "List all commands and keys.", place=Place.APP, letter="?", hint="help"),
    Action("command_palette", "palette", "Command palette", "Choose from all commands.",
           place=Place.APP, key="ctrl+p", hint="all"),
    Action("suspend", "suspend", "To the shell", "Suspend Jackdaw; fg in the shell brings it back.",
           place=Place.APP, key="ctrl+z"),
    Action("quit", "quit", "Quit", "Close Jackdaw.", place=Place.APP, key="ctrl+q", hint="quit"),
)  # fmt: skip

BROWSERS_OWN = frozenset({"ctrl+n", "ctrl+q", "ctrl+t", "ctrl+w"})
"""Keys that a browser keeps for itself; in `jackdaw web`, the command is shown in place of such a key."""

BY_ID = {action.id: action for action in ACTIONS}

USUAL = (
    "add", "help", "search", "new", "conversations", "sources", "why", "knowledge", "copy", "regen", "edit", "wrong",
    "model", "settings", "export", "cache", "private", "theme", "model_only", "forget", "quit",
)  # fmt: skip
"""The actions whose commands are offered first to a person who has not used any command, in this order."""

RARE = ("fetch", "suspend", "send", "together")
"""The actions whose commands are offered last."""


def available(action: Action, states: Collection[AppState]) -> bool:
    """Return whether the action is possible: all states that it needs hold, except `READING`.

    READING, the state in which letters act as keys, only decides whether the footer shows the key.
    """
    return action.needs - {AppState.READING} <= set(states)


def hints(states: Collection[AppState], place: Place = Place.CHAT) -> Iterator[Action]:
    """Yield the actions whose keys a screen's footer shows, in order: first the screen's own, then the app's.

    An action is shown if it has a footer word (`hint`), all `states` that it needs hold, and no earlier action has its
    key.
    """
    taken: set[str] = set()
    for action in (*of(place), *of(Place.APP)):
        key = key_of(action, states, place)
        if action.hint and action.needs <= set(states) and key and key not in taken:
            yield action
        taken.add(key)


def hint_of(action: Action, states: Collection[AppState]) -> str:
    """Return the footer's word for the action: its `again`, if any, while background work is paused, else `hint`."""
    return action.again if action.again and AppState.RESTING in states else action.hint


def of(place: Place) -> tuple[Action, ...]:
    """Return the actions of one screen, in the order of their declaration."""
    return tuple(action for action in ACTIONS if action.place is place)


def letters(place: Place) -> dict[str, Action]:
    """Return the letters that act as keys while nothing is typed: the screen's own and the app's.

    In the chat a letter may begin a question, so of the app's actions only those with a non-letter key such as "?"
    count.
    """
    apps = [action for action in of(Place.APP) if place is not Place.CHAT or not action.letter.isalpha()]
    return {action.letter: action for action in (*apps, *of(place)) if action.letter}


def key_of(action: Action, states: Collection[AppState], place: Place = Place.CHAT, *, in_browser: bool = False) -> str:
    """Return the label of the action's present key; for a key that the browser keeps for itself, the slash command."""
    letter = AppState.READING in states and letters(place).get(action.letter) is action
    key = action.letter if letter else action.key
    if in_browser and key in BROWSERS_OWN:
        return f"/{action.slash}"
    return key.replace("ctrl+", "^").replace("escape", "Esc")


def spelled(key: str) -> str:
    """Return a key's name as printed on keyboards."""
    return "Esc" if key == "escape" else "Ctrl+" + key[-1].upper() if key.startswith("ctrl+") else key


def is_command(text: str) -> bool:
    """Return whether the typed text is meant as a command; a path such as /home/me is not."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return first.startswith("/") and "/" not in first[1:] and "\n" not in text.strip()


def completions(text: str, uses: Mapping[str, int] = {}) -> list[Action]:
    """Return the actions whose command begins with the text after the slash.

    The order is: the command that equals the text, those that the person has used most, by the ids in `uses`, then
    those in `USUAL`. Return [] for a text that begins with no slash or has a line break.
    """
    if not text.startswith("/") or "\n" in text:
        return []
    typed = text[1:].lower()
    return sorted(
        (action for action in ACTIONS if action.slash.startswith(typed)),
        key=lambda action: (action.slash != typed, -uses.get(action.id, 0), _rank(action)),
    )


def parse(text: str) -> tuple[Action, str]:
    """Return the action and the argument of a typed command.

    Raises UsageError, which names the most similar command.
    """
    typed = text.strip()[1:].lstrip()
    for action in sorted(ACTIONS, key=lambda candidate: -len(candidate.slash)):
        if typed.lower() == action.slash or typed.lower().startswith(action.slash + " "):
            given = typed[len(action.slash) :].strip()
            longer = _longer(action.slash)
            if given and not action.takes:
                suggestion = f" See also {longer}." if longer else ""
                raise UsageError(f"/{action.slash} takes no words, so leave out “{given}”.{suggestion}")
            return action, given
    import difflib

    word = typed.split(maxsplit=1)[0] if typed else ""
    if longer := _longer(word):
        raise UsageError(f"/{word} needs a second word: {longer}.")
    near = difflib.get_close_matches(word, [action.slash for action in ACTIONS], 1)
    raise UsageError(f"There is no command /{word}." + (f" Did you mean /{near[0]}?" if near else " See /help."))


def _rank(action: Action) -> int:
    """Return the sort rank of an action that was never used: first those in `USUAL`, last those in `RARE`."""
    if action.id in RARE:
        return len(USUAL) + 1 + RARE.index(action.id)
    return USUAL.index(action.id) if action.id in USUAL else len(USUAL)


def _longer(slash: str) -> str:
    """Return the two-word commands that begin with this word, joined by "or"."""
    return " or ".join(f"/{action.slash}" for action in ACTIONS if action.slash.startswith(f"{slash} "))
