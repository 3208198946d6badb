"""What gives logits of rows: networks of ours, and models or outputs from elsewhere."""

from conftr.members.outside import Logits, Probabilities, Wrapped

__all__ = ["Logits", "Probabilities", "Wrapped"]
