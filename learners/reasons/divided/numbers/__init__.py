"""Divided rows of which only known numbers change: a descent, then a search among stretches that proves it."""
