"""A viser server that only the person who started it can use. Nothing else in gambol imports viser.

A server on the loopback interface is also within reach of every website that is open in a browser on this machine:
viser checks neither Host nor Origin, and any client can ask it to publish the page through a public tunnel. Here the
address contains a random token, requests must name this server as their host and origin, and sharing is switched off.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import rich
import viser
import websockets.asyncio.server as websocket_server

from gambol.errors import GambolError

HOST = "127.0.0.1"
PORT = 8080
"""The first port to try; viser takes the next one that is free."""
RequestHandler = Callable[[Any, Any], Any]
"""Takes the connection and the request; returns an HTTP response, or None to open a websocket."""


class PrivateServer(viser.ViserServer):
    """A viser server at an address that only its owner knows, and that cannot be shared."""

    def __init__(self) -> None:
        token = secrets.token_urlsafe(16)
        with _quiet(), _guarded(token) as guarded_ports:
            super().__init__(HOST, PORT, label="gambol", verbose=False)
        if self.get_port() not in guarded_ports:
            self.stop()
            raise GambolError("the live page cannot be protected with this version of viser; please report it")
        self.url = f"http://{HOST}:{self.get_port()}/{token}/"

    def request_share_url(self, verbose: bool = True) -> None:
        """Do nothing, whoever asks: viser calls this when a client sends a ShareUrlRequest."""

    def stop(self) -> None:
        """Close all connections and end the server's threads."""
        with _quiet():
            super().stop()


@contextmanager
def _guarded(token: str) -> Iterator[list[int]]:
    """Guard the websocket servers that are started inside the context; yields their ports.

    viser has no option for a request handler of one's own, so the function that it starts the server with is replaced
    for this moment. There is no time at which the server listens without the guard.
    """
    serve, ports = websocket_server.serve, list[int]()

    def guarded_serve(handler: Any, host: str, port: int, *, process_request: RequestHandler, **options: Any) -> Any:
        ports.append(port)
        return serve(handler, host, port, process_request=guard(process_request, port, token), **options)

    websocket_server.serve = guarded_serve  # type: ignore[assignment, misc]
    try:
        yield ports
    finally:
        websocket_server.serve = serve  # type: ignore[misc]


def guard(process_request: RequestHandler, port: int, token: str) -> RequestHandler:
    """A request handler that passes on only requests for /TOKEN/... that name this server as host and origin."""
    hosts = {f"{HOST}:{port}", f"localhost:{port}"}
    origins = {f"http://{host}" for host in hosts}

    def process_guarded(connection: Any, request: Any) -> Any:
        given, _, path = request.path.partition("?")[0].removeprefix("/").partition("/")
        host, origin = request.headers.get_all("Host"), request.headers.get_all("Origin")
        own = len(host) == 1 and hosts.issuperset(host) and origins.issuperset(origin)
        if not own or not secrets.compare_digest(given.encode(), token.encode()):
            return connection.respond(HTTPStatus.FORBIDDEN, "Open the whole address that gambol printed.\n")
        return process_request(connection, dataclasses.replace(request, path=f"/{path}"))

    return process_guarded


@contextmanager
def _quiet() -> Iterator[None]:
    """Without viser's own lines on the terminal."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
