"""What the commands of a script change: which only wait, print or look, and which set variables."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from importer.words import OF_LWS
from intent.command_line.programs import ASSIGNMENT

BRACKETS: Final = frozenset({"[", "]", "[[", "]]", "!"})
_PRINT: Final = ("echo", "printf", "sleep", "date", "true", ":", "hostname", "nvidia-smi", "seq")
_LOOKING: Final = (
    *("grep", "wc", "awk", "head", "cut", "tr", "cat", "ls", "which", "nc", "getent", "nslookup"),
)
DECIDE: Final = (*BRACKETS, "test", "false", *_LOOKING)
"""Programs that only look: what follows one of them with `&&` depends on what it sees."""
_READS: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys((*_PRINT, *DECIDE), re.compile(".*", re.DOTALL)),
    "printf": re.compile(r"(?!-v\b).*", re.DOTALL),
    "ray": re.compile(r"(?:status|health-check|list nodes|stop)\b.*", re.DOTALL),
}
"""Programs that only wait, print or look, with the form of their arguments.

`ray stop` is among them, since no Ray runs before a script starts it.
"""
LOOKS: Final = re.compile(rf"(?:^|[\s(|`])(?:(?:\[\[?|test)\s+(?:!\s+)?-[a-mo-y]|{'|'.join(_LOOKING)})\s")
"""A test of a file, or a program whose output depends on files or on other pods."""
_SETS: Final = re.compile(r"\$\{\w+:?=|\$\(\(.*(?:[^=!<>]=[^=]|\+\+|--).*\)\)", re.DOTALL)
"""An expansion that sets a variable."""
_ANYTHING: Final = re.compile(".*", re.DOTALL)
_APPENDS: Final = re.compile(r"\w+\+=")
_BUILTINS: Final[Mapping[str, re.Pattern[str]]] = {
    "set": re.compile(r"(?:[-+][eux]*(?:o pipefail)? ?)+"),
    **dict.fromkeys(
        (
            *("declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "getopts"),
            *("printf", "trap", "exit", "return", "break", "continue"),
        ),
        re.compile(r"(?!)"),
    ),
}
"""Commands of the shell that set variables, or say what runs, with the form of arguments that is read.

Of `set`: options that end a script at an error, or print its commands.
"""
ITSELF: Final = re.compile(r"[0-9]?>&[0-9]")
_QUIET: Final = re.compile(rf"{ITSELF.pattern}|(?:[0-9]?>|&>)/dev/null")
_LEAVES: Final = frozenset({"break", "continue", "exit"})
_COMMAND: Final = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_INNER: Final = re.compile(r"'[^']*'")
_ENDLESS: Final = re.compile(r"sleep (?:infinity|inf)|tail -f /dev/null|wait")


def is_endless(words: Sequence[str]) -> bool:
    """Return whether a command only keeps its container alive."""
    return _ENDLESS.fullmatch(" ".join(words)) is not None


def is_read(words: Sequence[str]) -> bool:
    """Return whether the effect of a command on the variables of the script is known."""
    form = _BUILTINS.get(words[0], _ANYTHING)
    return not _APPENDS.match(words[0]) and form.fullmatch(" ".join(words[1:])) is not None


def is_quiet(redirect: str) -> bool:
    """Return whether a redirection writes to no file."""
    return _QUIET.fullmatch(redirect) is not None


def only_reads(items: Sequence[str], redirects: Sequence[str], *, inside: bool = False) -> bool:
    """Return whether a command, and those whose output it has, change nothing.

    Inside of a loop or a condition, it may set variables, and end what it is in.
    """
    words = [word for word in items if not ASSIGNMENT.match(word)]
    if (
        not all(map(is_quiet, redirects))
        or not all(map(output_reads, items))
        or any(map(_SETS.search, items))
    ):
        return False
    return (inside and (not words or words[0] in _LEAVES)) or (bool(words) and _reads(words))


def _reads(words: Sequence[str]) -> bool:
    own = words[1:] if words[0] == "!" and len(words) > 1 else words
    form = _READS.get(own[0])
    return not is_endless(own) and form is not None and form.fullmatch(" ".join(own[1:])) is not None


def has_output(word: str) -> bool:
    """Return whether the output of a command stands in a word."""
    return "$((" not in word and _COMMAND.search(_INNER.sub("", word)) is not None


def output_reads(word: str) -> bool:
    """Return whether the commands whose output stands in a word only read."""
    inner = [dollar or backtick for dollar, backtick in _COMMAND.findall(_INNER.sub("", word))]
    named = [text for text in inner if text not in OF_LWS and not text.startswith("(")]
    parts = [part.split() for text in named for part in re.split(r"\|\|?|;|&&", text)]
    plain = [[word for word in part if not is_quiet(word)] for part in parts]
    return all(part and ">" not in "".join(part) and _reads(part) for part in plain)
