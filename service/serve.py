"""What ``rulewood serve`` does: the store made ready, a worker kept beside, and uvicorn in front."""

from __future__ import annotations

import contextlib
import errno
import gc
import signal
import socket
import sys
from collections.abc import Iterator
from types import FrameType

from service.operations import keys
from service.settings import Settings
from service.store.session import Store

#: Seconds that open requests get to finish when the service is asked to stop.
_GRACE_SECONDS = 10
#: Connections that one process takes up in a turn of its loop.
_ACCEPTED_AT_ONCE = 16


class NoKeyError(RuntimeError):
    """The service would be reachable from other machines without a key."""


class NoPortError(RuntimeError):
    """The address or port cannot be listened on."""


def prepare(settings: Settings) -> None:
    """Bring the store up to date and make sure that nothing would stand open.

    Raises:
        NoKeyError: bound to other than loopback, and no key is valid.
        Unavailable: the store cannot be reached.
    """
    settings.data.mkdir(parents=True, exist_ok=True)
    store = Store(settings.store_url)
    try:
        store.upgrade()
        if settings.admin_key is not None:
            keys.ensure_admin(store, settings.admin_key.get_secret_value())
        keyring = keys.Keyring(loopback=keys.is_loopback(settings.host))
        keyring.load(store)
    finally:
        store.dispose()
    if not keys.is_loopback(settings.host) and not keyring.has_keys:
        raise NoKeyError(
            f"{settings.host} can be reached from other machines, and there is no key yet: make one with "
            "'rulewood keys create --name me --scope admin', or bind 127.0.0.1"
        )


def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. The API processes read their settings from the environment.

    Raises:
        NoPortError: the port is taken, or the address is none of this machine.
    """
    import uvicorn

    config = uvicorn.Config(
        "service.app:from_environment",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http="service.web.protocol:ProblemProtocol",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    listening = _bind(settings)
    with listening, _ended_by_signals(), _worker_beside(settings):
        _announce(settings, listening)
        if settings.workers == 1:
            uvicorn.Server(config).run(sockets=several(listening))
        else:
            from uvicorn.supervisors import Multiprocess

            gc.enable()  # the app does so too, where it runs
            Multiprocess(config, sockets=[listening]).run()


def _bind(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise NoPortError(_refusal(settings, error)) from error
    listening.set_inheritable(True)
    return listening


def several(listening: socket.socket) -> list[socket.socket]:
    """The same listening socket several times.

    libuv takes up one connection of each in a turn of its loop, and answers all that waits before the next turn. Of
    many clients that come at once the last would wait for some thousand answers to the others. Processes that share
    a port should not: the first to wake would take all the connections.
    """
    return [listening, *(listening.dup() for _ in range(_ACCEPTED_AT_ONCE - 1))]


def _refusal(settings: Settings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {settings.port} on {settings.host} is in use; choose another with --port"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {settings.port} on {settings.host} needs rights that this process has not; choose one with --port"
    return f"{settings.host} is no address of this machine ({error.strerror}); choose one with --host"


def _announce(settings: Settings, listening: socket.socket) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{listening.getsockname()[1]}"
    sys.stdout.write(f"Rulewood serves on {address} (documentation: {address}/docs)\n")
    sys.stdout.flush()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM unwind the stack: uvicorn raises it anew when it has finished, and the worker must be stopped."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _worker_beside(settings: Settings) -> Iterator[None]:
    if not settings.worker:
        yield
        return
    from service.supervisor import WorkerSupervisor

    supervisor = WorkerSupervisor(settings)
    supervisor.start()
    try:
        yield
    finally:
        supervisor.stop()
