"""One kind of test a module: each finds the best test of its kind on one column of one node."""
