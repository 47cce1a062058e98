"""The servers: the webhook (`admission`), the controller, and the subcommands that run them."""
