"""`./dev bundle --cases`: packages operator test cases for another machine."""
