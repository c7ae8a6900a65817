"""`./dev bundle --cases`: the operators' test cases, for a machine with another GPU."""
