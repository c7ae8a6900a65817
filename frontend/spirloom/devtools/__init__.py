"""What looks into models that exist: how far apart two of them are."""
