"""Training in JAX: models, optimisers, epochs, runs that can be killed, and `fit`."""

from conftr.training.checkpoints import Checkpoints, CheckpointWarning
from conftr.training.compilation import use_compilation_cache
from conftr.training.fitting import (
    Fitted,
    Progress,
    TrainingSet,
    TrainingWarning,
    fit,
    predict_logits,
)
from conftr.training.models import MLP, ConvNet, Model
from conftr.training.optimisers import SGD, StepDecay, constant, cosine
from conftr.training.runs import Plan, resample, trial_keys

__all__ = [
    "MLP",
    "SGD",
    "CheckpointWarning",
    "Checkpoints",
    "ConvNet",
    "Fitted",
    "Model",
    "Plan",
    "Progress",
    "StepDecay",
    "TrainingSet",
    "TrainingWarning",
    "constant",
    "cosine",
    "fit",
    "predict_logits",
    "resample",
    "trial_keys",
    "use_compilation_cache",
]
