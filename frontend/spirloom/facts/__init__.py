"""Facts that specs declare (bounds, traits, aliases), compared with the operators' references on
random calls."""
