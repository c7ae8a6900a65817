"""What stands in for types that Spirloom lacks, and whether it gives the same numbers."""
