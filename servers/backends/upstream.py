"""HTTP to the services behind the servers: one time limit, reused connections, and our own error types."""

from __future__ import annotations

import os
import ssl
import threading
from typing import Any

import httpx2

from servers.backends.errors import UpstreamDown, UpstreamRateLimited, UpstreamTimeout

_clients: dict[tuple[int, str], httpx2.Client] = {}
_lock = threading.Lock()


def time_limit() -> float:
    """How long to wait for a service, in seconds: TOOLWORTHY_TIME_LIMIT, or 5."""
    text = os.environ.get("TOOLWORTHY_TIME_LIMIT") or "5"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 600:
        raise ValueError(f"TOOLWORTHY_TIME_LIMIT must be a number of seconds up to 600, not {text!r}.")
    return seconds


def send(service: str, address: str, method: str, path: str, **options: Any) -> httpx2.Response:
    """Send one request, never twice, to `address` (`http…://host` or `unix:/path`) and return what came back.

    Args:
        service: What error messages call the other side.
        address: The service's base URL, or `unix:` and the path of its socket.
        method: GET, POST, …
        path: The path below the address, beginning with a slash.
        options: As for `httpx2.Client.request`.

    Raises:
        UpstreamTimeout: No answer within `time_limit()`.
        UpstreamRateLimited: It answered 429.
        UpstreamDown: It couldn't be reached, broke off, or answered neither success nor 4xx.
        ValueError: The address has another form.
    """
    limit = time_limit()
    try:
        response = _client(address).request(method, path, timeout=limit, **options)
    except httpx2.TimeoutException as error:
        raise UpstreamTimeout(f"{service} didn't answer within {limit:g} s.") from error
    except (httpx2.ReadError, httpx2.WriteError, httpx2.ProtocolError) as error:
        raise UpstreamDown(f"{service} broke the connection off.") from error
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        raise UpstreamDown(f"{service} can't be reached.") from error
    if response.status_code == 429:
        text = response.headers.get("retry-after", "")
        seconds = int(text) if text.isdecimal() and len(text) < 10 else None  # it may also be a date, or nonsense
        raise UpstreamRateLimited(f"{service} has had too many calls for now.", seconds)
    if not response.is_success and not response.is_client_error:
        raise UpstreamDown(f"{service} is out of order (status {response.status_code}).")
    return response


def forget(address: str) -> None:
    """Close the connections that this process keeps to an address."""
    with _lock:
        client = _clients.pop((os.getpid(), address), None)
    if client:
        client.close()


def _client(address: str) -> httpx2.Client:
    # By process as well: after a fork, two processes must not read answers from one socket.
    key = os.getpid(), address
    with _lock:
        if key not in _clients:
            _clients[key] = _connect(address)
        return _clients[key]


def _connect(address: str) -> httpx2.Client:
    scheme, _, rest = address.partition(":")
    if scheme == "unix" and rest:
        # A bare TLS context, never used: the default one reads all root certificates, which takes longer than the call.
        transport = httpx2.HTTPTransport(uds=rest, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        return httpx2.Client(transport=transport, base_url="http://localhost", trust_env=False)
    if scheme in ("http", "https") and rest.startswith("//"):
        # No proxy of the environment reaches this machine's own loopback.
        return httpx2.Client(base_url=address, trust_env=not rest.startswith("//127.0.0.1"))
    raise ValueError(f"An address begins with unix:, http:// or https://; this one doesn't: {address!r}.")
