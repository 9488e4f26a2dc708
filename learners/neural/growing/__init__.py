"""Networks that get their hidden units while they learn."""
