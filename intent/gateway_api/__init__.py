"""The schemas of HTTPRoute and Gateway as data, and checks of a user's specs against them."""
