"""Fetching over a real HTTP server on loopback that breaks off, forgets ranges, or asks who one is."""

import base64
import hashlib
import http.server
import threading

import pytest

from harness.host.environment import fetch
from harness.host.environment.wheels import CannotBring, File

DATA = bytes(range(256)) * 64


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        start = int(self.headers["Range"][6:-1]) if self.headers.get("Range") and server.knows_ranges else 0
        self.send_response(404 if self.path == "/none" else 206 if start else 200)
        self.send_header("Content-Length", str(len(DATA) - start))
        self.end_headers()
        if self.path != "/none":
            part = DATA[start:]
            self.wfile.write(part[: server.breaks.pop(0)] if server.breaks else part)

    def log_message(self, *about):
        """Nothing goes to the terminal."""


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.breaks, server.knows_ranges = [], [], True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield server
    server.shutdown()
    server.server_close()


def wanted(server, sha256: str = hashlib.sha256(DATA).hexdigest()) -> File:
    return File("one.whl", f"{server.url}/one.whl", len(DATA), sha256)


def test_it_goes_on_where_it_broke_off_and_is_fetched_once(server, tmp_path):
    server.breaks = [1000, 500]
    told: list[int] = []
    file, path = fetch.fetch(str(tmp_path), wanted(server), told.append)
    assert path.read_bytes() == DATA and file == wanted(server)
    assert [one[1] for one in server.asked] == [None, "bytes=1000-", "bytes=1500-"]
    assert fetch.fetch(str(tmp_path), wanted(server), told.append)[1] == path and len(server.asked) == 3


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.breaks, server.knows_ranges = [1000], False
    assert fetch.fetch(str(tmp_path), wanted(server), print)[1].read_bytes() == DATA


def test_files_that_cannot_be_fetched_and_a_file_that_differs(server, tmp_path):
    with pytest.raises(CannotBring, match=r"^http://127\.0\.0\.1:\d+/none cannot be fetched: 404 Not Found$"):
        fetch.fetch(str(tmp_path), File("none", f"{server.url}/none"), print)
    with pytest.raises(CannotBring, match=r"gave another file than the index lists: its hash differs$"):
        fetch.fetch(str(tmp_path), wanted(server, "0" * 64), print)
    with pytest.raises(CannotBring, match="^there is no file /nowhere/x$"):
        fetch.fetch(str(tmp_path), File("x", "/nowhere/x"), print)


def test_the_login_of_an_index_on_the_same_machine(server, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_INDEX_URL", server.url.replace("//", "//me:s%20t@") + "/simple")
    fetch.fetch(str(tmp_path), wanted(server), print)
    assert server.asked[0][2] == "Basic " + base64.b64encode(b"me:s t").decode()


def test_a_url_without_a_hash_is_kept_by_its_name(server, tmp_path):
    file, path = fetch.fetch(str(tmp_path), File("python.tar.gz", f"{server.url}/python.tar.gz"), print)
    assert (file.bytes, file.sha256) == (len(DATA), hashlib.sha256(DATA).hexdigest())
    assert fetch.fetch(str(tmp_path), file, print)[1] != path and fetch.size_of(file) == len(DATA)
