"""What gives log-probabilities of rows: networks, trees, linear models, models of others."""

from conftr.members.boosted import Boosted
from conftr.members.elsewhere import Function, Logits, Probabilities
from conftr.members.forest import Forest
from conftr.members.logistic import Logistic

__all__ = ["Boosted", "Forest", "Function", "Logistic", "Logits", "Probabilities"]
