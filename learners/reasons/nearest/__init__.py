"""The nearest row of one region, and what it costs at least: columns by themselves, and sums over several."""
