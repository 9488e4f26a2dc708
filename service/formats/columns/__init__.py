"""From blocks of rows to columns: cells gathered, kinds inferred with evidence, profiles, steps as sequences."""
