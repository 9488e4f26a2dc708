"""Rows that miss values and so stay divided among leaves: the nearest of them whose mean is the wanted answer."""
