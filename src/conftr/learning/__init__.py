"""From labelled examples to the networks that are kept: divide, train, choose, search."""
