"""Networks that go through sequences step by step: recurrent and time-delay networks."""

from learners.neural.recurrent.recurrent import RecurrentNetworkClassifier, RecurrentNetworkRegressor
from learners.neural.recurrent.time_delay import TimeDelayNetworkClassifier, TimeDelayNetworkRegressor

__all__ = [
    "RecurrentNetworkClassifier",
    "RecurrentNetworkRegressor",
    "TimeDelayNetworkClassifier",
    "TimeDelayNetworkRegressor",
]
