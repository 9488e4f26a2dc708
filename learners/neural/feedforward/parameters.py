"""The declared parameters of networks that are trained by gradients."""

from __future__ import annotations

from learners.neural.estimator import NetworkEstimator
from learners.neural.layout import SCHEMES
from learners.neural.training import OPTIMIZERS
from learners.params import choice, integer, learner, real, sizes

#: Most layers, and units of one.
MOST_LAYERS, MOST_UNITS = 10, 5_000
_BY_BATCHES = {"optimizer": ("adam", "sgd")}


@learner
class GradientParameters(NetworkEstimator):
    """Layers, and how their weights are found."""

    hidden_units: tuple[int, ...] = sizes(
        (20,),
        "Units of each hidden layer, from the inputs on; without any the network is a linear model.",
        maximum=MOST_UNITS,
        most=MOST_LAYERS,
    )
    activation: str = choice(
        "tanh",
        ("sigmoid", "tanh", "relu", "linear"),
        "What hidden units make of their weighted sum: 1 / (1 + exp(-s)), tanh(s), s where it is positive, or s.",
    )
    optimizer: str = choice(
        "adam",
        OPTIMIZERS,
        "How weights are found from the gradient of the loss: descent with momentum by batches; quickprop (Fahlman "
        "1988); Rprop (Riedmiller and Braun 1993); Adam (Kingma and Ba 2015) by batches, whose rate falls evenly to 0 "
        "over the last quarter of the epochs; or L-BFGS.",
    )
    rate: float | None = real(
        None,
        "Length of a step: the learning rate; of Rprop the first step of each weight.",
        minimum=1e-9,
        maximum=100,
        none_means="the optimiser's own",
        only_with={"optimizer": ("adam", "sgd", "quickprop", "rprop")},
    )
    momentum: float = real(
        0.9,
        "Share of the last step that the next one repeats.",
        minimum=0,
        maximum=0.999,
        only_with={"optimizer": ("sgd",)},
    )
    growth: float = real(
        1.75,
        "How many times the last step the next one is at most.",
        minimum=1,
        maximum=10,
        exclusive_minimum=True,
        only_with={"optimizer": ("quickprop",)},
    )
    batch: int | None = integer(
        32,
        "Rows after which weights are changed.",
        minimum=1,
        none_means="all rows",
        only_with=_BY_BATCHES,
    )
    epochs: int = integer(
        200, "How often training goes through all rows at most.", minimum=1, maximum=100_000, is_size=True
    )
    decay: float = real(
        0.002,
        "Weight decay: what is minimised is the mean loss and half of this times the sum of the squared weights, "
        "biases left out.",
        minimum=0,
        maximum=1_000,
    )
    jitter: float = real(
        0.0,
        "Standard deviation of noise that is added to the inputs anew in each epoch.",
        minimum=0,
        maximum=1_000,
        only_with={"optimizer": ("adam", "sgd", "quickprop", "rprop")},
    )
    ignored_error: float = real(
        0.0,
        "Outputs nearer to their targets than this teach nothing (Gorman and Sejnowski 1988: 0.2), so that effort goes "
        "to the rows that are not learned yet; of numbers in their standard deviations.",
        minimum=0,
        maximum=100,
        only_with={"optimizer": ("adam", "sgd", "quickprop", "rprop")},
    )
    patience: int | None = integer(
        20,
        "Where rows are held out: epochs without a lower error on them after which training stops; as many as `epochs` "
        "or more never stop it. In any case the weights of the epoch with the least one are kept.",
        minimum=1,
        none_means="training does not stop early",
    )
    initial: str = choice(
        "glorot",
        SCHEMES,
        "Initial weights: by the numbers of units on both sides (Glorot and Bengio 2010), of rectified units by those "
        "before (He et al. 2015), biases 0; or evenly from a range around 0, biases too.",
    )
    initial_scale: float = real(0.5, "Half of that range.", minimum=0, maximum=100, only_with={"initial": ("uniform",)})

    def check_together(self) -> None:
        super().check_together()
        self._check_patience()
