"""Whether uv reaches the package index from here, why not, and what would help.

Runs on the host, next to `agent.py`. Standard library only, and Python 3.8.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

PYPI = "https://pypi.org/simple"
ASK_S = 60.0
_ANSWER_S = 5.0
_REQUEST_S = "8"  # for one request while asking; uv itself waits 30 s, and tries four times
# The words of uv when an index or a server of files did not do its part. Every other failure is shown as it is.
_OF_THE_NETWORK = (
    "client error (", "error sending request", "network was disabled", "operation timed out", "tunnel error",
    "HTTP status ", "failed to build HTTP client", "401 Unauthorized", "403 Forbidden", "request or response body",
)  # fmt: skip
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_NAMING_BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
_SYSTEM = ({"UV_SYSTEM_CERTS": "1"}, {"UV_NATIVE_TLS": "1"})  # the second is its name in older releases of uv
_OFFLINE = "UV_OFFLINE is set there"


class Trouble(NamedTuple):
    """Why uv gets nothing from its index, in one clause, and what to do about it."""

    why: str
    cure: str


def trouble(uv: str, environment: dict, python: str = sys.executable) -> Trouble | None:
    """The reason why uv cannot choose the packages of an environment; None if it can, or fails for another reason.

    uv itself is asked, so its settings, certificates and proxies count. A cure that names variables was tried.
    """
    known = dict(os.environ, **environment["variables"])
    if _is_offline(known):
        return Trouble(_OFFLINE, "unset UV_OFFLINE there")
    said = _ask(uv, environment, python, {}, "--refresh")
    why = reason(said, known)
    return Trouble(why, _cure(uv, environment, python, said, known)) if why else None


def why_not(uv: str, environment: dict, python: str) -> str:
    """Why uv gets nothing from its index, or ''. A package in its cache is not asked for again."""
    known = dict(os.environ, **environment["variables"])
    return "" if _is_offline(known) else reason(_ask(uv, environment, python, {}), known)


def _is_offline(known: dict) -> bool:
    return known.get("UV_OFFLINE", "").lower() in ("1", "true", "yes", "on")


def _ask(uv: str, environment: dict, python: str, more: dict, *options: str) -> str:
    """The output of uv if it cannot choose the packages, or ''."""
    known = dict(os.environ, UV_NO_PROGRESS="1", NO_COLOR="1", UV_PYTHON_DOWNLOADS="never")
    known.update(environment["variables"], **more)
    known.setdefault("UV_HTTP_TIMEOUT", _REQUEST_S)
    known.setdefault("UV_HTTP_RETRIES", "0")
    argv = [uv, "pip", "compile", "-", "--no-header", "--quiet", "--python", python, *options]
    argv += ["--python-version", "3.12"] if python == sys.executable else []
    argv += index_options(environment["torch_index"])
    try:
        done = subprocess.run(
            argv, input="\n".join(environment["requires"]).encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=ASK_S, env=known,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "operation timed out"
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode else ""


def index_options(index: str | None) -> list[str]:
    """uv's options for a `torch_index`: the URL of an index, or the name of a backend."""
    return [] if not index else ["--index", index] if "://" in index else ["--torch-backend", index]


def reason(said: str, known: dict) -> str:
    """Why uv, which failed with these words, got nothing from its index, or '' where it failed otherwise."""
    if not any(words in said for words in _OF_THE_NETWORK):
        return ""
    if _is_offline(known):
        return _OFFLINE
    index = _server(said, known)
    distrust = re.search(r"invalid peer certificate: (.+)", said)
    if distrust:
        return "the certificate of %s is not trusted there: %s" % (index, _certificate_error(distrust[1]))
    if "failed to build HTTP client" in said:
        return "uv there has no certificates to trust: %s" % said.strip().splitlines()[-1].split("error: ")[-1].strip()
    status = re.search(r"HTTP status \w+ error \((\d+ [^)]+)\)|\b(401 Unauthorized|403 Forbidden)\b", said)
    if status:
        return "%s answers %s" % (index, status[1] or status[2])
    if "tunnel error" in said:
        return no_way_out(known) or "its proxy lets nothing through"
    if "operation timed out" in said:
        return no_way_out(known) or "%s does not answer" % index
    causes = [line.split(":", 1)[1].strip() for line in said.splitlines() if line.strip().startswith("cause:")]
    return no_way_out(known) or "%s cannot be reached: %s" % (index, causes[-1] if causes else said.strip()[-200:])


def _server(said: str, known: dict) -> str:
    """`pypi.org`, of the first URL that uv names."""
    url = re.search(r"https?://[^\s)`'\"]+", said)
    return urlsplit(url[0]).netloc.rpartition("@")[2] if url else _address(known).netloc.rpartition("@")[2]


def _certificate_error(text: str) -> str:
    words = {
        "UnknownIssuer": "its issuer is unknown",
        "Expired": "it has expired",
        "NotValidForName": "it has another name",
    }
    for name, meaning in words.items():
        if name in text:
            return "%s (%s)" % (meaning, name)
    return text.strip()


def unreadable_certificates(known: dict) -> str:
    """Why the file that SSL_CERT_FILE names cannot be used, or ''."""
    path = known.get("SSL_CERT_FILE")
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            whole = file.read()
    except OSError as error:
        return "SSL_CERT_FILE there is %s, which cannot be read: %s" % (path, error.strerror)
    return "" if b"-----BEGIN " in whole else "SSL_CERT_FILE there is %s, which has no certificate in it" % path


def _cure(uv: str, environment: dict, python: str, said: str, known: dict) -> str:
    """The cure: variables with which uv does get there, or what a person must do."""
    if "certificate" not in said.lower():
        proxies = "HTTPS_PROXY=http://PROXY:PORT` for a proxy, `env=UV_DEFAULT_INDEX=URL` for another index"
        return "name what that host can reach: `env=" + proxies
    files = [known.get(name) for name in _NAMING_BUNDLES] + list(_BUNDLES)
    readable = [path for path in dict.fromkeys(files) if path and os.access(path, os.R_OK)]
    for more in (*_SYSTEM, *({"SSL_CERT_FILE": path} for path in readable)):
        if not reason(_ask(uv, environment, python, more, "--refresh"), known):
            return "`env=%s=%s`: with it uv trusts the certificate" % next(iter(more.items()))
    return "copy the certificate of its authority there, and name the file: `env=SSL_CERT_FILE=/path/ca.pem`"


def _address(known: dict):
    index = known.get("UV_DEFAULT_INDEX") or known.get("UV_INDEX_URL") or PYPI
    return urlsplit(index.rpartition("=")[2] if "=" in index.partition("://")[0] else index)


def no_way_out(variables: dict) -> str:
    """Why nothing connects to the package index from here, or ''. A proxy is asked in its place."""
    known = dict(os.environ, **variables)
    if _is_offline(known):
        return _OFFLINE
    address = _address(known)
    if address.scheme not in ("http", "https"):
        return ""
    names = [address.scheme + "_proxy", "all_proxy"]
    proxy = next((known[n] for name in names for n in (name, name.upper()) if known.get(n)), "")
    through = urlsplit(proxy if "://" in proxy else "http://" + proxy) if proxy else address
    host, port = through.hostname or "", through.port or (443 if through.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), _ANSWER_S).close()
        return ""
    except OSError as error:
        why = "no answer" if isinstance(error, socket.timeout) else error.strerror or str(error)
        return "%s%s:%d cannot be reached: %s" % ("its proxy " if proxy else "", host, port, why)
