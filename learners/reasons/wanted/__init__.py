"""What a caller wants: which answer, which changes are allowed at what price, and what a step counts."""
