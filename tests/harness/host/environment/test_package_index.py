"""uv itself, against servers on loopback that are not as they should be."""

import datetime
import hashlib
import http.server
import os
import socket
import ssl
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.host import doctor
from harness.host.environment import local_uv, package_index, releases
from tests.harness.documents import check_result

INFO = "import numpy as np\ndef run():\n    return {'out': np.arange(3)}"


@pytest.fixture
def uv(needs, only_what_is_set_here):
    try:
        return str(local_uv.program())
    except local_uv.NoUv:
        needs("uv", "uv (https://docs.astral.sh/uv)")


@pytest.fixture
def only_what_is_set_here(monkeypatch):
    """Nothing of this machine's proxies, indexes and certificates counts."""
    for name in list(os.environ):
        if "proxy" in name.lower() or name.startswith("UV_") or name in package_index._NAMING_BUNDLES:
            monkeypatch.delenv(name)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setattr(package_index, "_BUNDLES", ())


def wheel(folder: Path) -> Path:
    """A package of one file, whose name nobody else has."""
    path, info = folder / "of_this_test-1.0-py3-none-any.whl", "of_this_test-1.0.dist-info"
    files = {
        "of_this_test.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: of-this-test\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@contextmanager
def index(folder: Path, status: int = 200, certificate: Path | None = None):
    """An index with this package, over TLS if it has a certificate; its port."""
    data = wheel(folder).read_bytes()
    link = f'<a href="/{wheel(folder).name}#sha256={hashlib.sha256(data).hexdigest()}">{wheel(folder).name}</a>'

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = data if self.path.endswith(".whl") else f"<!DOCTYPE html>{link}".encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/zip" if self.path.endswith(".whl") else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        do_HEAD = do_GET

        def log_message(self, *about):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Files of a certificate authority that nobody knows: its certificate, and a server's with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder, now = tmp_path_factory.mktemp("tls"), datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in ("An authority", "localhost")]
    signed = []
    for key, name in zip(keys, names, strict=True):
        build = x509.CertificateBuilder().subject_name(name).issuer_name(names[0]).public_key(key.public_key())
        build = build.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        build = build.not_valid_after(now + datetime.timedelta(days=1))
        build = build.add_extension(x509.BasicConstraints(key is keys[0], None), critical=True)
        build = build.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        signed.append(build.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    kind = serialization.PrivateFormat.PKCS8
    key_text = keys[1].private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())
    (folder / "ca.pem").write_bytes(signed[0])
    (folder / "server.pem").write_bytes(key_text + signed[1])
    return folder / "ca.pem", folder / "server.pem"


def wants(url: str, **variables: str) -> dict:
    """An environment with the one package of that index."""
    known = {"UV_DEFAULT_INDEX": url, **variables}
    return {"kind": "managed", "requires": ["of-this-test"], "torch_index": None, "variables": known}


def test_an_index_that_answers(uv, tmp_path):
    with index(tmp_path) as port:
        assert package_index.trouble(uv, wants(f"http://127.0.0.1:{port}/simple")) is None


def test_a_package_that_is_not_there_is_no_trouble_of_the_index(uv, tmp_path):
    with index(tmp_path, 404) as port:
        assert package_index.trouble(uv, wants(f"http://127.0.0.1:{port}/simple")) is None


def test_a_refused_connection(uv):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = package_index.trouble(uv, wants(f"http://127.0.0.1:{port}/simple"))
    assert found == (
        f"127.0.0.1:{port} cannot be reached: Connection refused",
        "name what that host can reach: `env=HTTPS_PROXY=http://PROXY:PORT` for a proxy, `env=UV_DEFAULT_INDEX=URL` "
        "for another index",
    )


def test_an_index_that_hangs(uv):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = package_index.trouble(uv, wants(f"http://127.0.0.1:{port}/simple", UV_HTTP_TIMEOUT="1"))
        assert found and found.why == f"127.0.0.1:{port} does not answer"


@pytest.mark.parametrize("status, words", [(503, "503 Service Unavailable"), (403, "403 Forbidden")])
def test_an_index_that_refuses(uv, tmp_path, status, words):
    with index(tmp_path, status) as port:
        found = package_index.trouble(uv, wants(f"http://127.0.0.1:{port}/simple"))
        assert found and found.why == f"127.0.0.1:{port} answers {words}"


def test_uv_is_set_to_stay_offline(uv, tmp_path):
    with index(tmp_path) as port:
        found = package_index.trouble(uv, wants(f"http://127.0.0.1:{port}/simple", UV_OFFLINE="1"))
    assert found == ("UV_OFFLINE is set there", "unset UV_OFFLINE there")


def test_a_certificate_nobody_trusts_and_the_cure(uv, tmp_path, authority):
    """If a program names the authority's certificate, its file is the cure, and it does cure."""
    ca, certificate = authority
    with index(tmp_path, certificate=certificate) as port:
        url = f"https://localhost:{port}/simple"
        why = f"the certificate of localhost:{port} is not trusted there: its issuer is unknown (UnknownIssuer)"
        by_hand = "copy the certificate of its authority there, and name the file: "
        found = package_index.trouble(uv, wants(url))
        assert found == (why, f"{by_hand}`env=SSL_CERT_FILE=/path/ca.pem`")
        found = package_index.trouble(uv, wants(url, CURL_CA_BUNDLE=str(ca)))
        assert found == (why, f"`env=SSL_CERT_FILE={ca}`: with it uv trusts the certificate")
        assert package_index.trouble(uv, wants(url, SSL_CERT_FILE=str(ca))) is None


def test_certificates_that_cannot_be_read(tmp_path, authority):
    said = package_index.unreadable_certificates
    gone, empty = tmp_path / "gone.pem", tmp_path / "empty.pem"
    empty.write_text("")
    assert said({}) == said({"SSL_CERT_FILE": str(authority[0])}) == ""
    assert said({"SSL_CERT_FILE": str(gone)}) == (
        f"SSL_CERT_FILE there is {gone}, which cannot be read: No such file or directory"
    )
    assert said({"SSL_CERT_FILE": str(tmp_path)}).endswith(", which cannot be read: Is a directory")
    assert said({"SSL_CERT_FILE": str(empty)}) == f"SSL_CERT_FILE there is {empty}, which has no certificate in it"


def test_the_doctor_names_the_certificate_and_its_cure(uv, on_host, sshd, tmp_path, authority, monkeypatch):
    """The host can be used all the same: packages are copied."""
    monkeypatch.setattr(doctor, "LITTLE_BYTES", 0)
    monkeypatch.setattr(doctor.own_wheel, "needs", list)
    monkeypatch.setattr(doctor.own_wheel, "torch", lambda: "of-this-test")
    with index(tmp_path, certificate=authority[1]) as port, index(tmp_path) as port_here:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{port_here}/simple")
        there = {
            "python": None,
            "bootstrap": "true",
            "cache": tmp_path / "there",
            "env": f"UV_DEFAULT_INDEX=https://localhost:{port}/simple",
        }
        text, table = doctor.look(on_host(**there).host, fix=True)
        check_result("doctor", {"hosts": [table]})
        assert table["ready"] and "connect_s" in table, text
        assert (
            f"  package index        cannot be used: the certificate of localhost:{port} is not trusted there" in text
        )
        assert "                       to use it: copy the certificate of its authority there" in text
        assert "1 packages (0.0 MB): the first run copies it from here" in text
        gone = tmp_path / "gone.pem"
        settings = tmp_path / "config/gpu-repro/hosts.toml"
        settings.parent.mkdir(parents=True)
        name, _, url = there.pop("env").partition("=")
        settings.write_text(f'[p1]\nenv = {{ SSL_CERT_FILE = "{gone}", {name} = "{url}" }}\n')
        text, ready = doctor.report(on_host(**there, offline="false").host)
        assert not ready and text.endswith(
            "it gets no packages, and they cannot be brought from here: its settings have `offline = false`\n"
            "fix: copy the certificate of its authority there, and name the file: "
            "`env=SSL_CERT_FILE=/path/ca.pem`"
        )
        assert f"                       SSL_CERT_FILE there is {gone}, which cannot be read: No such file" in text


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["certificate", "refused", "hangs"])
def test_a_run_brings_what_the_index_does_not_give(on_host, write, tmp_path, authority, fault, monkeypatch):
    """Said once; numpy comes from this machine's index, with this machine's settings."""
    with index(tmp_path, certificate=authority[1]) as secure, socket.create_server(("127.0.0.1", 0)) as silent:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            urls = {
                "certificate": f"https://localhost:{secure}/simple",
                "refused": f"http://127.0.0.1:{closed.getsockname()[1]}/simple",
                "hangs": f"http://127.0.0.1:{silent.getsockname()[1]}/simple",
            }
        monkeypatch.setattr(releases, "cache_folder", lambda: tmp_path / "here")
        host = on_host(python=None, bootstrap="true", cache=tmp_path / "there", env=f"UV_DEFAULT_INDEX={urls[fault]}")
        for name in ("one", "two"):
            outcome = host.run(write(INFO, name=name))
            assert outcome.kind == "outputs", (outcome.text, host.notes)
        (said,) = [note for note in host.notes if "gets no packages itself" in note]
        assert said.endswith("): what it needs is fetched here and copied")


def test_a_way_out(monkeypatch):
    for name in list(os.environ):
        if "proxy" in name.lower() or name.startswith("UV_"):
            monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_port = server.getsockname()[1]
        assert package_index.no_way_out({"UV_INDEX_URL": f"http://127.0.0.1:{open_port}/simple"}) == ""
        assert package_index.no_way_out({"HTTPS_PROXY": f"http://127.0.0.1:{open_port}"}) == ""
    closed = {"https_proxy": f"127.0.0.1:{open_port}"}
    assert package_index.no_way_out(closed) == f"its proxy 127.0.0.1:{open_port} cannot be reached: Connection refused"
    assert package_index.no_way_out(closed | {"UV_OFFLINE": "1"}) == "UV_OFFLINE is set there"
    assert package_index.no_way_out(closed | {"UV_DEFAULT_INDEX": "file:///wheels/simple"}) == ""
    said = "error: Failed to fetch\n  cause: client error (Connect)"
    assert package_index.reason(said, closed) == package_index.no_way_out(closed)
    assert package_index.reason("error: No solution found", closed) == ""
