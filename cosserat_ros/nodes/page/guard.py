"""
Who may speak to the page.

A browser lets a page of any site connect to a port of this machine, but it says in the header
Origin whose page that is, and in Host by which name it found us. Both are checked before a request
is answered: the origin must be the host that is spoken to, so that no other site's page gets in;
the host must be this machine, so that no other site's name that leads here does (DNS rebinding).
A page that other machines may see has no name to go by, and needs a token instead: it is in the
address that the viewer prints, and in a cookie from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import hmac
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from http.cookies import SimpleCookie
from inspect import isawaitable
import re
from typing import Any, Optional
from urllib.parse import parse_qs, urlsplit

from ...checks.errors import CosseratError

NAME = r'(localhost|127(\.\d{1,3}){3}|\[?::1\]?)'
PORT = r'(:\d{1,5})?'
LAST_PORT = 65535
# No other site's page may frame ours, to have it clicked on unseen, nor learn the token.
HEADERS = {
    'Content-Security-Policy': "frame-ancestors 'none'", 'Referrer-Policy': 'same-origin'}
STRANGER = {'Host': 'stranger.invalid', 'Origin': 'http://stranger.invalid'}
UPGRADE = {
    'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA=='}


class Unguarded(CosseratError):
    """The page would answer anybody, for the reason given in one line."""


class Guard:
    """
    Refuses requests that are not of our own page.

    Parameters
    ----------
    token : str
        That a request must know; empty: it must come to this machine by a name of its own.

    """

    def __init__(self, token: str = '') -> None:
        self._token = token
        self.complain: Callable[[str], Any] = lambda reason: None  # called for every refusal

    @contextmanager
    def posted(self) -> Iterator[None]:
        """Have every web server that is started meanwhile ask us first: viser has no hook."""
        try:
            from websockets.asyncio import server
        except ImportError as error:
            raise Unguarded(f'the viewer needs a newer version of websockets: {error}') from error
        serve = server.serve

        def guarded(
            handler: Callable, host: str, port: int, *,
            process_request: Optional[Callable] = None, **options: Any,
        ) -> Any:
            # viser goes to the next port while one is in use, and would hang beyond the last.
            return serve(handler, host, port if port <= LAST_PORT else 0,
                         process_request=self._before(process_request), **options)

        server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            server.serve = serve  # type: ignore[misc]

    def check(self, host: str, port: int) -> None:
        """Raise `Unguarded` unless a server refuses strangers: it may not be the one we know."""
        for headers in (STRANGER, {**STRANGER, **UPGRADE}):
            connection = HTTPConnection(host, port, timeout=5.0)
            try:
                connection.request('GET', '/', headers=headers)
                status = connection.getresponse().status
            except (OSError, HTTPException) as error:
                raise Unguarded(f'the page does not answer: {error!r}') from error
            finally:
                connection.close()
            if status != HTTPStatus.FORBIDDEN:
                raise Unguarded(
                    'this version of viser does not let the viewer check who connects: '
                    f'a stranger was answered with {status}')

    def _before(self, process_request: Optional[Callable]) -> Callable:
        async def process(connection: Any, request: Any) -> Any:
            port = connection.local_address[1]
            reason = self.refusal(request, port)
            if reason:
                self.complain(reason)
                response = connection.respond(HTTPStatus.FORBIDDEN, f'Refused: {reason}.\n')
            else:
                response = process_request(connection, request) if process_request else None
                if isawaitable(response):
                    response = await response
            if response is not None:
                for name, value in HEADERS.items():
                    response.headers[name] = value
                if self._token and not reason:
                    response.headers['Set-Cookie'] = (
                        f'{cookie_name(port)}={self._token}; HttpOnly; SameSite=Strict; Path=/')
            return response
        return process

    def refusal(self, request: Any, port: int) -> str:
        """
        Return why a request is refused, or nothing.

        Parameters
        ----------
        request : websockets.http11.Request
        port : int
            That it came to.

        """
        headers = request.headers
        hosts, origins = headers.get_all('Host'), headers.get_all('Origin')
        if len(hosts) != 1:
            return f'the header Host must be present once, got {hosts}'
        if not self._token and not re.fullmatch(NAME + PORT, hosts[0], re.IGNORECASE):
            return f'the host must be localhost or a loopback address, got {hosts[0]!r}'
        own = f'http://{hosts[0]}'
        if any(origin.lower() != own.lower() for origin in origins):
            return f'the origin must be {own!r}, got {", ".join(map(repr, origins))}'
        if 'Upgrade' in headers and not origins:
            return f'a web socket must send its origin, {own!r}'
        if self._token and not self._is_known(request, port):
            return 'the token is missing or wrong; open the address that the viewer printed'
        return ''

    def _is_known(self, request: Any, port: int) -> bool:
        cookie = SimpleCookie(request.headers.get('Cookie', '')).get(cookie_name(port))
        told = parse_qs(urlsplit(request.path).query).get('token', [])
        told += [cookie.value] if cookie else []
        return any(hmac.compare_digest(one.encode(), self._token.encode()) for one in told)


def is_this_machine(host: str) -> bool:
    """Tell whether a host is a loopback address, or its usual name."""
    return re.fullmatch(NAME, host, re.IGNORECASE) is not None


def cookie_name(port: int) -> str:
    """Return a name for the token: a browser gives its cookies to all ports of a host."""
    return f'viewer_{port}'
