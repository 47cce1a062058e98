"""What the commands of a script change: which only wait, print or look, and which set variables."""

import re
from collections.abc import Sequence
from typing import Final

from importer.words import OF_LWS
from intent.command_line.programs import ASSIGNMENT

BRACKETS: Final = frozenset({"[", "]", "[[", "]]", "!"})
_LOOK: Final = ("test", "false", "grep", "wc", "awk", "head", "cut", "tr", "cat", "ls", "which", "nc", "ping")
DECIDE: Final = BRACKETS.union(_LOOK, ("getent", "nslookup"))
"""Programs that only look: what follows one of them with `&&` depends on what it sees."""
_PRINT: Final = ("echo", "printf", "sleep", "date", "true", ":", "hostname", "nvidia-smi", "seq")
_READERS: Final = DECIDE.union(_PRINT)
"""Programs that only wait, print or look."""
_OF_RAY: Final = frozenset({"status", "health-check", "list", "stop"})
"""Subcommands of Ray that only look. `stop` is among them: no Ray runs before a script starts it."""
_SET: Final = ("declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "getopts")
_RUN: Final = ("printf", "set", "unset", "trap", "exit", "return", "break", "continue")
_BUILTINS: Final = frozenset((*_SET, *_RUN))
"""Commands of the shell that set variables, or say what runs."""
_OPTIONS: Final = re.compile(r"(?:[-+][eux]*(?:o pipefail)? ?)+")
"""Options of `set` that end a script at an error, or print its commands."""
_SETS: Final = re.compile(r"\$\{\w+:?=|\$\(\(.*(?:[^=!<>]=[^=]|\+\+|--).*\)\)", re.DOTALL)
"""An expansion that sets a variable."""
_QUIET: Final = re.compile(r"[0-9]?>&[0-9]|(?:[0-9]?>|&>)/dev/null")
_COMMAND: Final = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_INNER: Final = re.compile(r"'[^']*'")
_ENDLESS: Final = re.compile(r"sleep (?:infinity|inf)|tail -f /dev/null|wait")


def is_endless(words: Sequence[str]) -> bool:
    """Return whether a command only keeps its container alive."""
    return _ENDLESS.fullmatch(" ".join(words)) is not None


def is_read(words: Sequence[str]) -> bool:
    """Return whether the effect of a command on the variables of the script is known."""
    return words[0] not in _BUILTINS and not re.match(r"\w+\+=", words[0])


def is_quiet(redirect: str) -> bool:
    """Return whether a redirection writes to no file."""
    return _QUIET.fullmatch(redirect) is not None


def only_reads(items: Sequence[str], redirects: Sequence[str], *, inside: bool = False) -> bool:
    """Return whether a command, and those whose output it has, change nothing.

    Inside of a loop or a condition, it may set variables, and end what it is in.
    """
    words = [word for word in items if not ASSIGNMENT.match(word)]
    if not all(map(is_quiet, redirects)) or any(
        _SETS.search(word) or not _output_reads(word) for word in items
    ):
        return False
    return (inside and (not words or words[0] in {"break", "continue", "exit"})) or _reads(words)


def _reads(words: Sequence[str]) -> bool:
    own = words[1:] if words[:1] == ["!"] else words
    if not own or is_endless(own) or own[:2] == ["printf", "-v"]:
        return False
    if own[0] == "set":
        return _OPTIONS.fullmatch(" ".join(own[1:])) is not None
    return own[0] in _READERS or (own[0] == "ray" and not _OF_RAY.isdisjoint(own[1:2]))


def _output_reads(word: str) -> bool:
    """Return whether the commands whose output stands in a word only read."""
    inner = [dollar or backtick for dollar, backtick in _COMMAND.findall(_INNER.sub("", word))]
    named = [text for text in inner if text not in OF_LWS and not text.startswith("(")]
    parts = [part.split() for text in named for part in re.split(r"\|\|?|;|&&", text)]
    plain = [[word for word in part if not is_quiet(word)] for part in parts]
    return all(">" not in "".join(part) and _reads(part) for part in plain)
