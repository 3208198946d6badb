"""ImageNet's EfficientNet-Lite0, as a frozen encoder of CIFAR's pictures.

Pictures are enlarged first: the network was trained on 224 x 224, and what it makes of less is
found, not promised.
"""

import numpy as np
import torch
from torch import nn

from conftr.features.efficientnet import MEAN, SPREAD, pretrained

NAME = "cifar100-imagenet"
SIDE = 96


class Encoder:
    """1280 features of pictures (n, 32, 32, 3)."""

    def __init__(self):
        self.network = pretrained()

    @torch.inference_mode()
    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        x = torch.from_numpy((pictures - MEAN) / SPREAD).permute(0, 3, 1, 2)
        x = nn.functional.interpolate(x, size=(SIDE, SIDE), mode="bicubic")
        with torch.autocast("cpu", torch.bfloat16):
            found = self.network(x.contiguous(memory_format=torch.channels_last))
        return found.float().numpy()
