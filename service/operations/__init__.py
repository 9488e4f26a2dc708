"""What the service does, one module for each ability; routes call these and nothing below."""
