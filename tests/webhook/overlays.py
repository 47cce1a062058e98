"""The overlay of all concerns for one Intent."""

from collections.abc import Iterable

from intent.lws import Intent
from intent.settings import Settings
from intent.tree import Overlay
from webhook.mutate import CONCERNS, expansion
from webhook.mutate.concern import Concern


def overlay(intent: Intent, settings: Settings, concerns: Iterable[Concern] = CONCERNS) -> Overlay:
    """Return what these concerns inject, as one overlay."""
    return expansion(intent, settings, tuple(concerns)).wish
