"""Networks that learn to give back their inputs through fewer numbers, which are the rows' code."""
