"""Reports and pictures of models for people."""
