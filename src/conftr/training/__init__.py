"""Training in JAX: models, optimisers, epochs, runs that can be killed, and `fit`."""

from conftr.training.augmentation import (
    AnyView,
    Augmentation,
    Crop,
    Cutout,
    Flip,
    InTurn,
    LeaveOut,
    LeaveWordsOut,
)
from conftr.training.autoaugment import AutoAugment
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
from conftr.training.heads import MembersAverage, MLPFromAverage, MLPOfViews
from conftr.training.models import MLP, ConvNet, Model
from conftr.training.optimisers import SGD, StepDecay, constant, cosine
from conftr.training.resnets import ResNet, resnet34, resnet50
from conftr.training.runs import Plan, resample, trial_keys
from conftr.training.words import WordNet

__all__ = [
    "MLP",
    "SGD",
    "AnyView",
    "Augmentation",
    "AutoAugment",
    "CheckpointWarning",
    "Checkpoints",
    "ConvNet",
    "Crop",
    "Cutout",
    "Fitted",
    "Flip",
    "InTurn",
    "LeaveOut",
    "LeaveWordsOut",
    "MLPFromAverage",
    "MLPOfViews",
    "MembersAverage",
    "Model",
    "Plan",
    "Progress",
    "ResNet",
    "StepDecay",
    "TrainingSet",
    "TrainingWarning",
    "WordNet",
    "constant",
    "cosine",
    "fit",
    "predict_logits",
    "resample",
    "resnet34",
    "resnet50",
    "trial_keys",
    "use_compilation_cache",
]
