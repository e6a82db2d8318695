"""The subcommands that record runs as bags and replay them."""
