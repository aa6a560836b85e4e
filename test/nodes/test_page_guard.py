"""Who may speak to the viewer's page: its own page, and no page of another site."""

from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import re
import socket
import threading
import time

from browser import address, CHROMIUM, FLAGS, open_browser, Page
from listener import Listener
import pytest
from rcl_interfaces.msg import Log

VERSION = pytest.importorskip('viser', reason='viser is not installed').__version__

from cosserat_ros.nodes import viewer  # noqa: E402
from cosserat_ros.nodes.page import guard  # noqa: E402
from cosserat_ros.nodes.viewer import open_page  # noqa: E402

UPGRADE = {
    'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='}
SWITCHED, SERVED, REFUSED = 101, 200, 403


def answer(port, path='/', **headers):
    """Send a request with these headers alone; return the response."""
    connection = HTTPConnection('127.0.0.1', port, timeout=20.0)
    connection.putrequest('GET', path, skip_host=True, skip_accept_encoding=True)
    for name, values in headers.items():
        for value in [values] if isinstance(values, str) else values:
            connection.putheader(name.replace('_', '-'), value)
    connection.endheaders()
    response = connection.getresponse()
    connection.close()
    return response


def shake_hands(port, path='/', **headers):
    """Ask for a web socket; return the status of the answer."""
    return answer(port, path, **UPGRADE, **headers).status


@pytest.fixture(scope='module')
def port():
    """Return the port of a page that only this machine sees."""
    page = open_page('127.0.0.1', 0, False, guard.Guard())
    yield page.port
    page.close()


@pytest.mark.parametrize(('host', 'origin', 'status'), [
    ('127.0.0.1:{}', 'http://127.0.0.1:{}', SWITCHED),
    ('localhost:{}', 'http://localhost:{}', SWITCHED),
    ('LocalHost:{}', 'http://localhost:{}', SWITCHED),
    ('[::1]:{}', 'http://[::1]:{}', SWITCHED),
    ('localhost:9000', 'http://localhost:9000', SWITCHED),  # by a tunnel of SSH
    ('localhost', 'http://localhost', SWITCHED),
    ('127.0.0.1:{}', 'http://evil.example', REFUSED),
    ('127.0.0.1:{}', 'null', REFUSED),
    ('127.0.0.1:{}', '', REFUSED),
    ('127.0.0.1:{}', (), REFUSED),
    ('127.0.0.1:{}', ('http://127.0.0.1:{}', 'http://evil.example'), REFUSED),
    ('127.0.0.1:{}', 'http://127.0.0.1:3000', REFUSED),     # another server of this machine
    ('127.0.0.1:{}', 'http://localhost:{}', REFUSED),
    ('127.0.0.1:{}', 'https://127.0.0.1:{}', REFUSED),
    ('evil.example:{}', 'http://evil.example:{}', REFUSED),  # its name leads here: DNS rebinding
    ('127.0.0.1.evil.example:{}', 'http://127.0.0.1.evil.example:{}', REFUSED),
    ('evil.example@127.0.0.1:{}', 'http://evil.example@127.0.0.1:{}', REFUSED),
    ('192.0.2.1:{}', 'http://192.0.2.1:{}', REFUSED),
    ('', 'http://', REFUSED),
    ((), 'http://127.0.0.1:{}', REFUSED),
    (('127.0.0.1:{}', 'evil.example'), 'http://127.0.0.1:{}', REFUSED),
])
def test_a_web_socket_is_for_the_page_itself_alone(port, host, origin, status):
    def filled(given):
        return [one.format(port) for one in ([given] if isinstance(given, str) else given)]
    assert shake_hands(port, Host=filled(host), Origin=filled(origin)) == status


@pytest.mark.parametrize(('headers', 'status'), [
    ({'Host': 'localhost:9000'}, SERVED),
    ({'Host': 'localhost:9000', 'Origin': 'http://localhost:9000'}, SERVED),
    ({'Host': 'localhost:9000', 'Origin': 'http://evil.example'}, REFUSED),
    ({'Host': 'evil.example'}, REFUSED),
    ({'Host': 'evil.example', 'Upgrade': 'WebSocket'}, REFUSED),
    ({}, REFUSED),
])
def test_the_page_is_given_out_on_this_machine_alone(port, headers, status):
    response = answer(port, **headers)
    assert response.status == status
    assert response.getheader('Content-Security-Policy') == "frame-ancestors 'none'"


def test_a_refusal_says_what_is_wrong(port):
    connection = HTTPConnection('127.0.0.1', port, timeout=20.0)
    connection.request('GET', '/', headers={'Host': 'evil.example'})
    assert b"'evil.example'" in connection.getresponse().read()
    connection.close()


def test_the_log_says_what_was_refused_but_not_too_often(start_node):
    viewer = start_node('viewer', port=0)
    _, port = address(viewer)
    begin = time.monotonic()
    for _ in range(50):
        assert shake_hands(port, Host=f'127.0.0.1:{port}', Origin='http://evil.example') == REFUSED
    passed = time.monotonic() - begin
    assert viewer.stop() == 0
    warnings = viewer.output().count('[WARN]')
    assert 1 <= warnings <= passed + 2.0, viewer.output()
    assert "'http://evil.example'" in viewer.output()


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch):
    @contextmanager
    def asleep(self):
        yield
    monkeypatch.setattr(guard.Guard, 'posted', asleep)
    with pytest.raises(guard.Unguarded, match='viser'):
        open_page('127.0.0.1', 0, False, guard.Guard())


@pytest.mark.timeout(60)
def test_beyond_the_last_port_there_is_an_answer(monkeypatch):
    """Another takes the port after it was found free: viser then tries the next, which is none."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(('127.0.0.1', 65535))
        taken.listen()
        monkeypatch.setattr(viewer, 'check_address', lambda *_: None)  # it comes too early
        with pytest.raises(viewer.StartError, match='port 65535 on 127.0.0.1 is in use'):
            open_page('127.0.0.1', 65535, False, guard.Guard())


# --- For other machines, with a token -----------------------------------------------------------


@pytest.fixture
def open_viewer(start_node):
    """Return a viewer that other machines may see, its port and its token."""
    viewer = start_node('viewer', port=0, host='0.0.0.0')
    deadline = time.monotonic() + 30.0
    found = None
    while not found and time.monotonic() < deadline:
        found = re.search(r'http://[^/\s]+:(\d+)/\?token=(\S+)$', viewer.output(), re.M)
        time.sleep(0.05)
    assert found, viewer.output()
    return viewer, int(found[1]), found[2]


def test_other_machines_need_the_token_of_the_address(open_viewer):
    _, port, token = open_viewer
    assert len(token) >= 20
    host = f'192.0.2.1:{port}'
    same = {'Host': host, 'Origin': f'http://{host}'}
    for path in ('/', '/?token=', '/?token=guess', f'/?token={token}x', f'/?other={token}'):
        assert answer(port, path, Host=host).status == REFUSED
        assert shake_hands(port, path, **same) == REFUSED
    assert answer(port, Host=f'localhost:{port}').status == REFUSED
    page = answer(port, f'/?token={token}', Host=host)
    assert page.status == SERVED
    cookie = page.getheader('Set-Cookie')
    assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie
    mine = cookie.partition(';')[0]
    assert shake_hands(port, Cookie=f'other=1; {mine}', **same) == SWITCHED
    assert shake_hands(port, Cookie=mine + 'x', **same) == REFUSED
    assert shake_hands(port, Cookie=mine, Host=host, Origin='http://evil.example') == REFUSED
    assert answer(port, f'/?token={token}', Host=host, Origin='null').status == REFUSED


def test_the_token_is_said_where_the_viewer_was_started_alone(start_node):
    listener = Listener()
    try:
        listener.subscribe(Log, '/rosout', 1000)
        viewer = start_node('viewer', port=0, host='0.0.0.0')
        assert listener.spin_until(lambda: '?token=' in viewer.output(), 30.0)
        port = int(re.search(r':(\d+)/\?token', viewer.output())[1])

        def heard():
            shake_hands(port, Host='x', Origin='http://evil.example')
            listener.spin(0.3)
            return any('evil.example' in log.msg for log in listener.messages['/rosout'])
        assert listener.spin_until(heard, 20.0), 'nothing of the viewer came on /rosout'
        assert not any('token=' in log.msg for log in listener.messages['/rosout'])
    finally:
        listener.close()


# --- In a real browser --------------------------------------------------------------------------


class HostilePage(BaseHTTPRequestHandler):
    """A page that connects to the port that is named in its address."""

    def do_GET(self):  # noqa: N802
        """Give it out."""
        target = self.path.partition('?')[2]
        body = f"""<p id=said>waiting</p><script>
            const socket = new WebSocket('ws://{target}/', 'viser-v{VERSION}');
            const say = text => document.getElementById('said').textContent = text;
            socket.onopen = () => say('open');
            socket.onerror = () => say('refused');</script>""".encode()
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def tunnel(port):
    """Forward another port, as ``ssh -L`` does; give its number."""
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, sink):
                one.close()

    def serve():
        while True:
            try:
                near, _ = gate.accept()
            except OSError:
                return
            far = socket.create_connection(('127.0.0.1', port))
            for ends in ((near, far), (far, near)):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.socket() as gate:
        gate.bind(('127.0.0.1', 0))
        gate.listen()
        threading.Thread(target=serve, daemon=True).start()
        yield gate.getsockname()[1]
        gate.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope='module')
def browser():
    """Return a headless browser."""
    with open_browser() as browser:
        yield browser


@pytest.mark.timeout(300)
def test_a_page_of_another_site_gets_nothing_out_of_a_browser(start_node, browser):
    _, port = address(start_node('viewer', port=0))
    site = ThreadingHTTPServer(('127.0.0.1', 0), HostilePage)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    # One browser that knows a name which leads to this machine.
    rebound = browser.browser_type.launch(executable_path=CHROMIUM, args=[
        *FLAGS, '--host-resolver-rules=MAP evil.example 127.0.0.1'])
    try:
        for one, own, target in (
                (browser, '127.0.0.1', f'127.0.0.1:{port}'),
                (browser, '127.0.0.1', f'localhost:{port}'),
                (rebound, 'evil.example', f'127.0.0.1:{port}'),
                (rebound, 'evil.example', f'evil.example:{port}')):
            page = Page(one, f'http://{own}:{site.server_port}/?{target}')
            assert page.wait_for(lambda page=page: 'waiting' not in page.text())
            assert page.text() == 'refused', (own, target)
            page.page.close()
    finally:
        rebound.close()
        site.shutdown()
        site.server_close()


@pytest.mark.timeout(300)
def test_the_page_works_through_a_tunnel(start_node, browser):
    _, port = address(start_node('viewer', port=0))
    with tunnel(port) as near:
        page = Page(browser, f'http://localhost:{near}')
        assert page.wait_for(lambda: 'waiting for /tf' in page.status())
        page.page.close()


@pytest.mark.timeout(300)
def test_the_page_works_with_its_token(open_viewer, browser):
    _, port, token = open_viewer
    page = Page(browser, f'http://localhost:{port}/?token={token}')
    assert page.wait_for(lambda: 'waiting for /tf' in page.status())
    page.page.close()
