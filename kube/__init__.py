"""The Kubernetes API: requests as values, and the client that sends them."""
