"""What an app offers the protocol in the lifespan's state: answers before ASGI, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from service.web.request_head import Headers
from service.web.together import Together

#: The name of an :class:`AtOnce` in the lifespan's state.
AT_ONCE = "rulewood.at_once"
#: The name of the app's :class:`~service.settings.Limits` in the lifespan's state.
LIMITS = "rulewood.limits"
#: The name of the process's :class:`~service.web.backlog.Backlog` there.
BACKLOG = "rulewood.backlog"


class AtOnce(NamedTuple):
    """What an app offers to answer before ASGI. Its functions do not wait and raise nothing.

    Attributes:
        admit: from a request's target and headers (lower-case names) to what ``answer`` is to know of them; None where
            the app shall be asked, without waiting for the body.
        answer: from that, the headers and the whole body to the header lines and the body of an answer 200, or None
            where the app shall be asked.
        together: the requests of all connections that are to be answered.
    """

    admit: Callable[[bytes, Headers], Any]
    answer: Callable[[Any, Headers, bytes], tuple[bytes, bytes] | None]
    together: Together
