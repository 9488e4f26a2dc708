"""Networks of units: what they learn, answer and tell."""
