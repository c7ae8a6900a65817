"""The subcommands of `spirloom`. Slow modules are imported only when a command runs."""
