"""Certificates: issue and reload. Stands alone."""
