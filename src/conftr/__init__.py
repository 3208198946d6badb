"""Classifiers that answer with a set of classes, trained through conformal prediction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from conftr.conformal.cross import cross_p_values, cross_predict_set, cross_promise
from conftr.conformal.later.cact import CaCT
from conftr.conformal.later.confts import confts
from conftr.conformal.later.dpi import DPI
from conftr.conformal.later.dpsm import DPSM
from conftr.conformal.later.fano import Fano
from conftr.conformal.later.focal import Focal
from conftr.conformal.later.label_smoothing import LabelSmoothing
from conftr.conformal.later.model_fano import ModelFano
from conftr.conformal.later.rwce import RWCE
from conftr.conformal.later.uncertainty_aware import UncertaintyAware
from conftr.conformal.losses import class_loss, coverage_loss, size_loss
from conftr.conformal.metrics import (
    accuracy,
    class_coverage,
    class_inefficiency,
    coverage,
    coverage_confusion,
    coverage_law,
    group_coverage,
    group_inefficiency,
    inefficiency,
    miscoverage,
    size_histogram,
    size_stratified_coverage,
)
from conftr.conformal.objectives import Bel, ConfTr, CoverTr, CrossEntropy
from conftr.conformal.p_values import p_values
from conftr.conformal.quantile import (
    CalibrationWarning,
    Kernel,
    Nearest,
    OrderStatistic,
    SmoothSort,
    exact_position,
    paper_position,
)
from conftr.conformal.scores import (
    aps,
    logits_from_probs,
    raps,
    smooth_aps,
    thr,
    thr_logits,
    thr_probs,
)
from conftr.conformal.sets import calibrate, predict_set, smooth_calibrate, smooth_predict_set
from conftr.conformal.shaping import Avoid, Separate, Shape, identity
from conftr.conformal.trials import evaluate
from conftr.conformal.weighted import weighted_calibrate

if TYPE_CHECKING:
    __version__: str
    from conftr.classifier.artefact import load, save
    from conftr.classifier.estimator import ConformalClassifier, small_sets_scorer
    from conftr.exporting.whole import export
    from conftr.members.pytorch import torch_member
    from conftr.report.of_logits import report_of_logits as report

__all__ = [
    "DPI",
    "DPSM",
    "RWCE",
    "Avoid",
    "Bel",
    "CaCT",
    "CalibrationWarning",
    "ConfTr",
    "ConformalClassifier",
    "CoverTr",
    "CrossEntropy",
    "Fano",
    "Focal",
    "Kernel",
    "LabelSmoothing",
    "ModelFano",
    "Nearest",
    "OrderStatistic",
    "Separate",
    "Shape",
    "SmoothSort",
    "UncertaintyAware",
    "accuracy",
    "aps",
    "calibrate",
    "class_coverage",
    "class_inefficiency",
    "class_loss",
    "confts",
    "coverage",
    "coverage_confusion",
    "coverage_law",
    "coverage_loss",
    "cross_p_values",
    "cross_predict_set",
    "cross_promise",
    "evaluate",
    "exact_position",
    "export",
    "group_coverage",
    "group_inefficiency",
    "identity",
    "inefficiency",
    "load",
    "logits_from_probs",
    "miscoverage",
    "p_values",
    "paper_position",
    "predict_set",
    "raps",
    "report",
    "save",
    "size_histogram",
    "size_loss",
    "size_stratified_coverage",
    "small_sets_scorer",
    "smooth_aps",
    "smooth_calibrate",
    "smooth_predict_set",
    "thr",
    "thr_logits",
    "thr_probs",
    "torch_member",
    "weighted_calibrate",
]

# Imported when first asked for: these bring scikit-learn and JAX.
_HEAVY = {
    "ConformalClassifier": "conftr.classifier.estimator",
    "export": "conftr.exporting.whole",
    "load": "conftr.classifier.artefact",
    "report": "conftr.report",
    "save": "conftr.classifier.artefact",
    "small_sets_scorer": "conftr.classifier.estimator",
    "torch_member": "conftr.members.pytorch",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("conftr")
    if name not in _HEAVY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = import_module(_HEAVY[name])
        return value if name == "report" else getattr(value, name)  # a package that can be called
    except ImportError as missing:
        raise ImportError(
            f"conftr.{name} needs packages that are not here ({missing}): "
            f"pip install 'conftr[train,data,tables,report]'."
        ) from missing
