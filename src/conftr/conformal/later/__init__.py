"""Methods after the paper, a file for each, with its formula, its source and what was decided."""
