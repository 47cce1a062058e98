"""Checks of a user's EndpointPickerConfig against `catalog.pickers`."""
