"""What the Gateway API takes of an HTTPRoute and of a Gateway, as data, and what is said of the rest."""
