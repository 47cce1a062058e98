"""The overlay of all concerns for one Intent."""

from collections.abc import Iterable

from intent.lws import Intent
from intent.settings import Settings
from webhook.mutate import CONCERNS, expansion
from webhook.mutate.concern import Concern
from webhook.overlay.overlay import Overlay


def overlay(intent: Intent, settings: Settings, concerns: Iterable[Concern] = CONCERNS) -> Overlay:
    """Return what these concerns inject, as one overlay."""
    return expansion(intent, settings, tuple(concerns)).wish
