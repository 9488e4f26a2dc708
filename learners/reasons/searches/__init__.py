"""The nearest rows with another answer of a whole model: one search for each form of model."""
