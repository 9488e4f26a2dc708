"""Neural networks: layers, passes and training on arrays beneath, learners of tables above."""

from learners.neural.autoencoder.estimator import Autoencoder
from learners.neural.cascade.classifier import CascadeCorrelationClassifier
from learners.neural.cascade.regressor import CascadeCorrelationRegressor
from learners.neural.feedforward.classifier import NeuralNetworkClassifier
from learners.neural.feedforward.regressor import NeuralNetworkRegressor
from learners.neural.growing.classifier import GrowingNetworkClassifier
from learners.neural.growing.regressor import GrowingNetworkRegressor
from learners.neural.recurrent.recurrent import RecurrentNetworkClassifier, RecurrentNetworkRegressor
from learners.neural.recurrent.time_delay import TimeDelayNetworkClassifier, TimeDelayNetworkRegressor

__all__ = [
    "Autoencoder",
    "CascadeCorrelationClassifier",
    "CascadeCorrelationRegressor",
    "GrowingNetworkClassifier",
    "GrowingNetworkRegressor",
    "NeuralNetworkClassifier",
    "NeuralNetworkRegressor",
    "RecurrentNetworkClassifier",
    "RecurrentNetworkRegressor",
    "TimeDelayNetworkClassifier",
    "TimeDelayNetworkRegressor",
]
