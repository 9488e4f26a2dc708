"""What jobs do: the parts of each kind, and putting their results together.

Each part is a function of dataset and request alone, or of them and the results of parts before it, so a
part that is run again finds the same.
"""

from learners.compilation import marks
from service.operations.work.dispatch import expected, finish, plan, run_part
from service.operations.work.kernels import compile_ahead, compile_for_good, is_compiled, warm

__all__ = [
    "compile_ahead",
    "compile_for_good",
    "expected",
    "finish",
    "is_compiled",
    "marks",
    "plan",
    "run_part",
    "warm",
]
