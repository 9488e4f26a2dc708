"""Rule sets: what a tree says, as one IF ... THEN for each leaf."""
