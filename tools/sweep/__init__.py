"""`./dev sweep`: compiles, checks and times versions of a kernel, such as tile sizes."""
