"""The webhook's HTTP server: connections, limits, TLS, metrics."""
