"""What stands between the port and the app."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import uvloop

from service.serve import several

CLIENTS = 48


class _Arrivals(asyncio.Protocol):
    """Notes in which turn of the loop each connection was taken up."""

    turn = 0

    def __init__(self, turns: list[int]) -> None:
        self.turns = turns

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.turns.append(_Arrivals.turn)
        transport.close()


def _turns_of_arrival(listening: socket.socket, sockets: list[socket.socket]) -> list[int]:
    """For each of many clients that wait already, the turn of the loop in which it is taken up."""
    turns: list[int] = []

    async def take_up() -> None:
        servers = [await asyncio.get_running_loop().create_server(lambda: _Arrivals(turns), sock=s) for s in sockets]
        for _Arrivals.turn in range(100 * CLIENTS):
            await asyncio.sleep(0)
            if len(turns) == CLIENTS:
                break
        for server in servers:
            server.close()

    with contextlib.ExitStack() as stack:
        for _ in range(CLIENTS):
            stack.enter_context(socket.create_connection(listening.getsockname()))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(take_up())
    return turns


def _listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)


def test_clients_that_come_at_once_are_all_taken_up_in_a_few_turns() -> None:
    with _listening() as alone:
        one_by_one = _turns_of_arrival(alone, [alone])
    with _listening() as listening:
        together = _turns_of_arrival(listening, several(listening))
    assert len(set(one_by_one)) == CLIENTS
    assert len(together) == CLIENTS
    assert len(set(together)) <= 6
