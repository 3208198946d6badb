"""Short messages of four kinds, made up of a few words each, in which a class can be heard."""

import numpy as np
import polars as pl

_SAID = {
    "lost card": ["card", "lost", "stolen", "missing", "block", "wallet", "cannot find"],
    "transfer": ["transfer", "money", "account", "send", "arrived", "friend", "pending"],
    "exchange": ["euro", "rate", "currency", "exchange", "pounds", "convert", "abroad"],
    "greeting": ["hello", "good morning", "thanks", "nice", "day", "help", "bye"],
}
_AROUND = ["please", "my", "i", "the", "what", "is", "can you", "now", "why", "about", "it"]


def messages(n=240, seed=0, noise=0.2):
    """n rows with a column of texts `said` and their `kind`; some hold words of another kind."""
    rng = np.random.default_rng(seed)
    kinds = list(_SAID)
    rows = []
    for k in rng.integers(0, len(kinds), n):
        other = kinds[rng.integers(len(kinds))] if rng.random() < noise else kinds[k]
        words = [*rng.choice(_SAID[kinds[k]], 2), rng.choice(_SAID[other]), *rng.choice(_AROUND, 4)]
        rows.append((" ".join(rng.permutation(words)), kinds[k]))
    return pl.DataFrame(rows, schema=["said", "kind"], orient="row")
