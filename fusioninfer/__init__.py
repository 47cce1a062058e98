"""The `fusioninfer` command: it reads settings and composes the other packages."""

__version__ = "0.1.0"
