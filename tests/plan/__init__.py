"""Which tests a change needs (`./dev test --plan`)."""
