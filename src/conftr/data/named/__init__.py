"""One file per named dataset; adding one is a file with its recipe and a line here."""

from conftr.data.named.camelyon import CAMELYON
from conftr.data.named.cifar10 import CIFAR10
from conftr.data.named.cifar100 import CIFAR100
from conftr.data.named.cifar_features import RECIPES as CIFAR_FEATURES
from conftr.data.named.digits import DIGITS
from conftr.data.named.emnist import EMNIST, EMNIST_TEST
from conftr.data.named.fashion_mnist import FASHION_MNIST, FASHION_MNIST_LONG_TAIL
from conftr.data.named.german_credit import GERMAN_CREDIT
from conftr.data.named.mnist import MNIST
from conftr.data.named.winequality import WINEQUALITY, WINEQUALITY_GRADES

RECIPES = (
    DIGITS,
    MNIST,
    FASHION_MNIST,
    FASHION_MNIST_LONG_TAIL,
    EMNIST,
    EMNIST_TEST,
    WINEQUALITY,
    WINEQUALITY_GRADES,
    GERMAN_CREDIT,
    CAMELYON,
    CIFAR10,
    CIFAR100,
    *CIFAR_FEATURES,
)

__all__ = ["RECIPES"]
