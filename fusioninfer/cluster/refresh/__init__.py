"""The subcommand `refresh`: which LeaderWorkerSets have older templates, and taking the templates of now."""
