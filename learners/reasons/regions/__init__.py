"""Where in a model's columns an answer holds: boxes, half-spaces and sets of cells that paths and rules ask for."""
