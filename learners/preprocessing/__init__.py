"""What is fitted to the training rows before a learner sees them."""
