"""The declared parameters of recurrent and time-delay networks."""

from __future__ import annotations

from learners.neural.estimator import NetworkEstimator
from learners.neural.optimizers import RULES
from learners.neural.recurrent.structure import ACTIVATIONS
from learners.neural.recurrent.teaching import EVERY, LAST, NEXT
from learners.params import choice, flag, integer, learner, real, sizes

_PATIENCE = 50


@learner
class StepwiseParameters(NetworkEstimator):
    """Layers, what is taught after which step, and how weights are found."""

    hidden_units: tuple[int, ...] = sizes(
        (8,),
        "Units of each hidden layer, from the inputs on; at least one layer.",
        maximum=1_000,
        most=10,
        fewest=1,
    )
    shortcuts: bool = flag(
        False,
        "Whether the outputs see the inputs of the last step (of a window, all of it) directly too, so that hidden "
        "units learn what a linear model lacks.",
    )
    activation: str = choice("tanh", tuple(ACTIVATIONS), "What hidden units make of their weighted sum.")
    taught: str = choice(
        LAST,
        (LAST, EVERY, NEXT),
        "After which steps an answer is wanted in training: the target after a row's last step; the target after each "
        "of its steps; or after each step the next one's own value, and after the last the target. Rows of which one "
        "is another's beginning are learned in one pass, so that a row for every beginning teaches an answer for each "
        "step.",
    )
    optimizer: str = choice(
        "rprop",
        RULES,
        "How weights follow the gradient: descent with momentum by batches; quickprop (Fahlman 1988); each with a step "
        "of its own, by the sign alone (Rprop, Riedmiller and Braun 1993); or Adam (Kingma and Ba 2015) by batches.",
    )
    rate: float | None = real(
        None,
        "Length of a step: the learning rate; of Rprop the first step of each weight.",
        minimum=1e-9,
        maximum=100,
        none_means="the optimiser's own",
    )
    momentum: float = real(
        0.9,
        "Share of the last step that the next one repeats.",
        minimum=0,
        maximum=0.999,
        only_with={"optimizer": ("sgd",)},
    )
    batch: int | None = integer(
        None,
        "Sequences after which weights are changed.",
        minimum=1,
        none_means="all of them",
        only_with={"optimizer": ("sgd", "adam")},
    )
    clip: float | None = real(
        1.0,
        "Largest norm of the gradient; a longer one is shortened to it.",
        minimum=0,
        exclusive_minimum=True,
        none_means="it may be of any length",
        only_with={"optimizer": ("sgd", "quickprop", "adam")},
    )
    epochs: int = integer(
        200, "How often training goes through all rows at most.", minimum=1, maximum=100_000, is_size=True
    )
    decay: float = real(
        1e-4,
        "Weight decay: what is minimised is the mean error and half of this times the sum of the squared weights, "
        "biases left out.",
        minimum=0,
        maximum=1_000,
    )
    patience: int | None = integer(
        _PATIENCE,
        "Where rows are held out: epochs without a lower error on them after which training stops; as many as `epochs` "
        "or more never stop it. In any case the weights of the epoch with the least one are kept.",
        minimum=1,
        none_means="training does not stop early",
    )

    def check_together(self) -> None:
        super().check_together()
        self._check_patience()
