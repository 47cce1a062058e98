"""The servers as processes: the webhook (`admission`), the controller, certificates, probes and logs."""
