"""The `fusioninfer` command: it reads settings and composes the other packages."""
