"""The live page is served to the person who started it and to nobody else."""

import http.client
import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser")
import msgspec
import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gambol.errors import GambolError
from gambol.live import server as live_server
from gambol.live.server import PrivateServer

PROTOCOL = f"viser-v{viser.__version__}"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": PROTOCOL,
}


@pytest.fixture
def server():
    started = PrivateServer()
    yield started
    started.stop()


def ask(server, path=None, **headers):
    """Status and body of a request; the path is that of the printed address unless given."""
    address = urlsplit(server.url)
    line = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    try:
        line.putrequest("GET", path or address.path, skip_host="Host" in headers)
        for name, value in headers.items():
            line.putheader(name, value)
        line.endheaders()
        answer = line.getresponse()
        return answer.status, b"" if answer.status == 101 else answer.read()
    finally:
        line.close()


@pytest.fixture(params=[{}, UPGRADE], ids=["page", "websocket"])
def kind(request):
    """Headers of a request for the page, or for its websocket."""
    return request.param


def test_the_printed_address_gives_the_page_and_the_websocket(server):
    address = urlsplit(server.url)
    assert address.hostname == "127.0.0.1" and len(address.path) > 20
    status, body = ask(server)
    assert status == 200 and b"<html" in body
    assert ask(server, Host=f"localhost:{address.port}")[0] == 200
    assert ask(server, f"{address.path}?hideViserLogo")[0] == 200
    assert ask(server, **UPGRADE, Origin=f"http://127.0.0.1:{address.port}")[0] == 101
    # The client's rule (getDefaultServerFromUrl): the page's address without its last slash.
    with connect(server.url.replace("http", "ws").rstrip("/"), subprotocols=[PROTOCOL]) as line:
        assert len(line.recv(timeout=10)) > 100


def test_nothing_is_served_without_the_token(server, kind):
    token = urlsplit(server.url).path.strip("/")
    for path in ("/", "/index.html", f"/?{token}", f"/{token[:-1]}/", f"/{token}x/", f"//{token}/", "/%C3%A4/"):
        assert ask(server, path, **kind)[0] == 403, path


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_other_hosts_are_refused(server, kind, host):
    port = urlsplit(server.url).port
    assert ask(server, Host=host.format(port=port), **kind)[0] == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_other_origins_are_refused(server, kind, origin):
    port = urlsplit(server.url).port
    assert ask(server, Origin=origin.format(port=port), **kind)[0] == 403


def test_a_website_cannot_open_the_websocket(server):
    with pytest.raises(InvalidStatus), connect(server.url.replace("http", "ws"), origin="https://evil.example"):
        pass


def test_a_client_cannot_share_the_page(server, monkeypatch):
    tunnels = []
    monkeypatch.setattr("viser._viser.ViserTunnel", lambda *arguments: tunnels.append(arguments))
    asked = []
    monkeypatch.setattr(PrivateServer, "request_share_url", _noting(PrivateServer.request_share_url, asked))
    with connect(server.url.replace("http", "ws"), subprotocols=[PROTOCOL]) as line:
        line.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
        end = time.monotonic() + 10
        while not asked and time.monotonic() < end:
            time.sleep(0.01)
    assert asked == [None]
    assert tunnels == []


def test_an_unguarded_server_is_not_left_running(monkeypatch):
    """As if another version of viser started its server in another way."""
    import websockets.asyncio.server as websocket_server

    serve, stopped = websocket_server.serve, []
    monkeypatch.setattr(live_server, "websocket_server", type("Elsewhere", (), {"serve": serve}))
    stop = PrivateServer.stop
    monkeypatch.setattr(PrivateServer, "stop", lambda self: (stopped.append(self.get_port()), stop(self)))
    with pytest.raises(GambolError, match="cannot be protected"):
        PrivateServer()
    assert len(stopped) == 1


def _noting(function, results):
    def noting(*arguments):
        results.append(function(*arguments))

    return noting
