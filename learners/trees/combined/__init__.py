"""Combined tests: tests of a node that look at several values at once, as thresholds on columns of their own."""
