"""AdaBoost: the weights of rows and of votes, whatever is boosted.

AdaBoost.M1 is that of Freund and Schapire (1996), SAMME that of Zhu, Zou, Rosset and Hastie (2009). With
the vote ``alpha = log((1 - e) / e)`` rows that were answered wrong get e^alpha times their weight, after
which a weak learner of two classes is no better than chance: its error is exactly 1/2. (With half that
vote, right ones would get e^-alpha as well. Doing that with the whole one moves twice too far.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.types import BoolArray, FloatArray

#: An error that is not above this counts as this: without errors a vote would be infinite.
LEAST_ERROR = 1e-10
#: An error this close to that of chance is not better than it.
_SLACK = 1e-12
#: Rows that are always right get lighter without end; a weight of 0 would leave them out.
_LEAST_WEIGHT = 1e-90

#: Learns a member from row weights and says of each row whether it answers it wrong.
Learn = Callable[[FloatArray, Progress], BoolArray]


@dataclass(frozen=True)
class Boosted:
    """What became of the rounds, of which each but perhaps the last left a member.

    Attributes:
        votes: alpha of each member, shape (M,).
        errors: its weighted error among the rows, shape (M,).
        ended: ``complete``; ``perfect``, since the last member makes no error; ``chance``, since one more
            was not better than chance; or ``guess``, since not even the first was, which is the only one then.
    """

    votes: FloatArray
    errors: FloatArray
    ended: str


def boost(
    learn: Learn, weights: FloatArray, n_classes: int, rounds: int, *, samme: bool, progress: Progress
) -> Boosted:
    """Learn member after member, each from the rows that those before got wrong.

    It ends before all rounds are done where a member makes no error, with that member, whose error counts as
    ``LEAST_ERROR``; or where one is not better than chance, without it. If that is the first, it is kept, alone.

    Args:
        learn: see :data:`Learn`; members that ``boost`` does not count must be dropped by the caller.
        weights: of the rows, shape (n,); their sum stays as it is.
        n_classes: of the classes that occur.
        rounds: most members.
        samme: chance is an error of 1 - 1 / n_classes, not 1/2.
        progress: told before each round.
    """
    n_guesses = max(n_classes, 2) if samme else 2
    chance = 1.0 - 1.0 / n_guesses
    votes: list[float] = []
    errors: list[float] = []
    ended = "complete"
    for number in range(rounds):
        wrong = learn(weights, _portion(progress, number, rounds))
        error = float(weights[wrong].sum() / weights.sum())
        if error >= chance - _SLACK:
            ended = "chance"
            if not votes:
                ended, votes, errors = "guess", [1.0], [error]
            break
        votes.append(vote_of(error, n_guesses))
        errors.append(error)
        if error <= LEAST_ERROR:
            ended = "perfect"
            break
        weights = reweighed(weights, wrong, votes[-1])
    return Boosted(np.array(votes), np.array(errors), ended)


def vote_of(error: float, n_guesses: int = 2) -> float:
    """``alpha = log((1 - e) / e) + log(n_guesses - 1)``; 0 where the error is that of guessing."""
    error = max(error, LEAST_ERROR)
    return math.log((1.0 - error) / error) + math.log(n_guesses - 1)


def reweighed(weights: FloatArray, wrong: BoolArray, vote: float) -> FloatArray:
    """The weights of the next round: wrong rows times e^vote, all then scaled to the same sum.

    Dividing the right ones by it comes to the same and never overflows. Rows without weight keep none.
    """
    changed = np.where(wrong, weights, weights * math.exp(-vote))
    changed *= weights.sum() / changed.sum()
    found: FloatArray = np.where(weights > 0, np.maximum(changed, _LEAST_WEIGHT), 0.0)
    return found


def _portion(progress: Progress, number: int, rounds: int) -> Progress:
    def of_all(share: float, message: str) -> None:
        progress((number + share) / rounds, f"member {number + 1} of {rounds}: {message}")

    of_all(0.0, "weighing the rows")
    return of_all
