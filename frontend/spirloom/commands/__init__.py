"""The subcommands of `spirloom`. They import what is slow to load only when they run."""
