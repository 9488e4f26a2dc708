"""The tests. What is set here holds in all their processes, and before any of them loads numpy."""

import os

#: Several test processes, each with processes of its own, share the processors; threads of BLAS beside them all would
#: mostly wait for each other, and do so by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
