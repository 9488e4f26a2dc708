"""What a model is and why it answers so: rules, trees, coefficients, importances, counterfactuals, questions."""
