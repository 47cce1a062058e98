"""Commands in messages: built of words, so that a shell runs what is meant, whatever a name contains."""

import shlex

from intent.errors import printable
from intent.names import is_label_key, is_subdomain


def command(*words: str) -> str:
    """Return a command of one line that can be copied into a shell."""
    return printable(shlex.join(words))


def named(name: str) -> str:
    """Return a name for a command or a log; a placeholder for a text that is no name, nor a key."""
    return name if is_subdomain(name) or is_label_key(name) else "NAME"
