"""Every error that a user can see. Each message says what happened and what to do next.

JackdawError
├── UsageError            the request itself is wrong (exit code 2)
│   └── SettingError      a setting is unknown or its value does not fit
├── NothingFound          there is nothing to show or do (exit code 3)
├── UnreadableFile        one file cannot be read; ingestion lists it and goes on
│   └── PasswordNeeded    the file is encrypted, and no given password opens the file
├── PhoneSilent           the phone's own data cannot be read: no phone, no permission, no answer
├── NotWritable           a file or folder cannot be made or written
├── StoreError            the database or its disk
│   ├── StoreCorrupt      the database is damaged
│   ├── StoreLocked       another process has locked the database for too long
│   └── StoreFull         the disk is full
├── GaveWay               idle work stopped: the user needs the machine
├── WeightsError          model files
│   ├── WeightsMissing    not pulled yet
│   ├── WeightsDamaged    truncated, altered, or of another kind than declared
│   ├── AdapterRejected   an adapter that is damaged, or made for another model
│   ├── DraftRejected     a draft model or network that does not fit the model
│   └── PullFailed        the source could not be reached or refused
├── ProtocolError         a side of the link broke the protocol
├── LinkError             the companion server cannot be reached, or no longer answers
├── ServerLost            a required part of the companion server failed: restart it (exit code 70)
└── EngineError           a call that the model runtime refused, or would have crashed on
    ├── ContextFull       no room for more tokens
    ├── EngineLost        the model runtime can compute nothing any more
    ├── NothingWritten    the model ended its answer without any text
    └── SliceRejected     a KV state that is damaged, or of another model, setting or format
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit status of a command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOTHING = 3
    LOST = 70  # as in sysexits.h for an internal error; a service manager restarts the server on it


class JackdawError(Exception):
    """The base class of all errors. `str(error)` is shown to the user."""

    exit_code = ExitCode.FAILED


class UsageError(JackdawError):
    """The request itself is wrong: an unknown command or option, or an invalid value."""

    exit_code = ExitCode.USAGE


class SettingError(UsageError):
    """A setting is unknown or its value does not fit."""


class NothingFound(JackdawError):
    """There is nothing to show or do."""

    exit_code = ExitCode.NOTHING


class UnreadableFile(JackdawError):
    """A file cannot be read. The message is only the reason, in a few words, without the path."""


class PasswordNeeded(UnreadableFile):
    """A file is encrypted, and none of the given passwords opens it."""


class PhoneSilent(JackdawError):
    """The phone's own data or voice (messages, calls, speech) cannot be used, because there is no phone, no permission,
    or no answer from the phone.
    """


class NotWritable(JackdawError):
    """A file or folder cannot be made or written."""


class StoreError(JackdawError):
    """The database or its disk failed."""


class StoreCorrupt(StoreError):
    """The database is damaged."""


class StoreLocked(StoreError):
    """Another process has locked the database for too long."""


class StoreFull(StoreError):
    """The disk is full."""


class GaveWay(JackdawError):
    """Idle work stopped early, because the user needs the machine."""


class WeightsError(JackdawError):
    """The base class of errors with model files."""


class WeightsMissing(WeightsError):
    """The model's weights have not been downloaded yet."""


class WeightsDamaged(WeightsError):
    """A file of weights is truncated, altered, or of another kind than declared."""


class AdapterRejected(WeightsError):
    """An adapter is damaged or made for another model. The model answers without it."""


class DraftRejected(WeightsError):
    """A draft model or draft network cannot be used, or does not fit the model. The model answers without it."""


class PullFailed(WeightsError):
    """The source of the weights could not be reached, or refused the download."""


class ProtocolError(JackdawError):
    """A side of the link broke the protocol.

    `code` is the code with which the connection is closed; the error's message never quotes what was sent.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class LinkError(JackdawError):
    """The companion server cannot be reached, or no longer answers."""


class ServerLost(JackdawError):
    """A required part of the companion server failed. The server has to be restarted."""

    exit_code = ExitCode.LOST


class EngineError(JackdawError):
    """The model runtime refused a call, or would have crashed on it."""


class ContextFull(EngineError):
    """There is no room for more tokens in the context."""


class EngineLost(EngineError):
    """The model runtime can compute nothing any more, or its state cannot be repaired.

    The model has to be loaded again.
    """


class NothingWritten(EngineError):
    """The model ended its answer without writing any text."""

    def __init__(self, wrote: str = "The model wrote nothing") -> None:
        super().__init__(f"{wrote}. Try again with --temperature 0.7, or use another model: jackdaw models list")


class SliceRejected(EngineError):
    """A KV state is damaged, or comes from another model, setting or format."""
