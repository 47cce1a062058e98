"""The command that people type; it reads settings and composes the rooms."""

__version__ = "0.1.0"
