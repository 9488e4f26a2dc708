"""Decision trees: one grower, one flat node array, one traversal."""
