"""What gives logits of rows: networks, trees and linear models of ours, and models of others."""

from conftr.members.boosted import Boosted
from conftr.members.elsewhere import Function, Logits, Probabilities
from conftr.members.forest import Forest
from conftr.members.logistic import Logistic

__all__ = ["Boosted", "Forest", "Function", "Logistic", "Logits", "Probabilities"]
