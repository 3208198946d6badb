"""A trained network of PyTorch as a member: nothing of it is trained here, a head may be.

It is saved as its state dict in safetensors. The code that makes the network is the user's and is
not saved: a function that builds it is given when it is loaded, so that no folder can name code to
be run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from conftr.conformal import checks
from conftr.members.member import Files, FittedModel, MemberError, MemberRows
from conftr.members.scikit import Given, TakenAsItIs

Build: TypeAlias = Callable[[], Any]

_WEIGHTS, _SETTINGS = "torch.safetensors", "torch.json"
_BLOCK = 1024  # rows that go through a network at a time


class UnknownNetworkError(MemberError):
    """A saved network whose code is not known here, and what to give."""


@dataclass(frozen=True, eq=False)
class TorchMember(TakenAsItIs):
    """A network that gives logits (n, K); see `torch_member`."""

    net: Any
    classes: Sequence[Hashable]
    build: Build | None = None

    @property
    def name(self) -> str:
        """The name of its class."""
        return type(self.net).__name__

    def model(self, rows: MemberRows) -> FittedModel:
        """The network, asked for the classes of the rows."""
        return TorchNetwork(self.net, rows.classes, self.build)


def torch_member(
    net: Any, classes: Sequence[Hashable], *, build: Build | None = None
) -> TorchMember:
    """A trained network of PyTorch as a member of a classifier.

        clf = ConformalClassifier(alpha=0.05, members=conftr.torch_member(net, ["cat", "dog"]))
        clf.fit(X_calibration, y)  # calibrates; rows that the network was not trained on

    Args:
        net: A `torch.nn.Module` that gives logits (n, K) of rows as an array (n, ...). It is put
            into evaluation mode when it is asked.
        classes: The names of the columns of its logits.
        build: A function that makes such a network, with any weights. `conftr.save` then saves the
            weights, and `conftr.load(path, build=...)` takes them up.

    Returns:
        A member for `ConformalClassifier(members=...)`.

    Raises:
        TypeError: If it is no module of PyTorch.
    """
    if not hasattr(net, "state_dict") or not callable(net):
        raise TypeError(
            f"net must be a module of PyTorch; got {type(net).__name__}. A function that gives "
            f"logits goes in as conftr.members.Function(it, classes)."
        )
    return TorchMember(net, classes, build)


@dataclass(frozen=True, eq=False)
class TorchNetwork:
    """A network and the function that makes one like it."""

    kind: ClassVar[str] = "torch"

    net: Any
    classes: int
    build: Build | None

    @property
    def words(self) -> str:
        """How large it is."""
        weights = sum(weight.numel() for weight in self.net.parameters())
        return f"{type(self.net).__name__} of PyTorch with {weights:,} weights"

    def logits(self, inputs: Given) -> Any:
        """Its logits as they are, (n, K), in evaluation mode and without gradients."""
        import torch

        x = inputs.x if isinstance(inputs.x, torch.Tensor) else torch.as_tensor(_array(inputs.x))
        first = next(self.net.parameters(), torch.zeros(()))
        self.net.eval()
        with torch.no_grad():
            blocks = [self.net(block.to(first.device, _type(block, first))) for block in _blocks(x)]
        outputs = torch.cat(blocks).cpu().numpy()
        logits: Any = checks.logits_array(outputs, "logits")
        if logits.shape != (len(x), self.classes):
            raise ValueError(
                f"the network must give logits (n, K) with a column for each of the "
                f"{self.classes} classes; for {len(x)} rows it gave shape {logits.shape}."
            )
        return logits

    def files(self) -> Files:
        """The state dict as tensors, and what people should know of it as text."""
        import safetensors.torch

        if self.build is None:
            raise MemberError(
                f"{type(self.net).__name__} is saved as its weights, and the code that makes it is "
                f"yours: name a function that does, conftr.torch_member(net, classes, build=...)."
            )
        state = {name: tensor.detach().cpu() for name, tensor in self.net.state_dict().items()}
        _take(self.build, state)  # said now, and not when it is needed
        settings = {"classes": self.classes, "network": type(self.net).__name__}
        apart = {name: tensor.contiguous().clone() for name, tensor in state.items()}
        return {
            _WEIGHTS: safetensors.torch.save(apart),
            _SETTINGS: json.dumps(settings).encode(),
        }


def load(files: Files, build: Build | None = None) -> TorchNetwork:
    """The network that was saved as these files.

    Raises:
        UnknownNetworkError: If no function that makes it is given, or it makes another.
    """
    import safetensors.torch

    settings = json.loads(files[_SETTINGS])
    if build is None:
        raise UnknownNetworkError(
            f"this classifier has a network of PyTorch, {settings['network']}, whose code is not "
            f"saved with it: give a function that makes it, conftr.load(path, build=...)."
        )
    state = safetensors.torch.load(files[_WEIGHTS])
    return TorchNetwork(_take(build, state), int(settings["classes"]), build)


def _take(build: Build, state: Any) -> Any:
    """A network that `build` makes, with these weights."""
    net = build()
    try:
        net.load_state_dict(state)
    except RuntimeError as fault:
        raise UnknownNetworkError(f"build makes another network than was saved: {fault}") from None
    return net.eval()


def _array(x: Any) -> Any:
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers for a network of PyTorch; got {array.dtype}.")
    return array


def _blocks(x: Any) -> Any:
    return x.split(_BLOCK) if len(x) else [x]


def _type(part: Any, first: Any) -> Any:
    """The type of the weights for numbers; whole numbers stay, as embeddings take them."""
    return first.dtype if part.is_floating_point() else part.dtype
