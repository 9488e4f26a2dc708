"""Pruning: functions from a node array to a smaller one; the input stays as it is."""
