"""An EndpointPickerConfig that an author wrote, checked against `catalog.pickers`."""
