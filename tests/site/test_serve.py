"""The local server: on this machine only, with plain words when it cannot serve."""

import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from coursekit.site.serve import main, open_server


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text("<p>hello</p>")
    return tmp_path


@pytest.fixture
def server(site):
    with open_server(site, 0) as opened:
        thread = threading.Thread(target=opened.serve_forever)
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def test_serves_the_site_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
        assert answer.read() == b"<p>hello</p>"
        assert answer.headers["Cache-Control"] == "no-cache"


def test_only_failed_requests_are_printed(server, capfd):
    address = f"http://127.0.0.1:{server.server_port}/"
    urllib.request.urlopen(address).close()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(address + "absent.html")
    caught.value.close()
    printed = capfd.readouterr().err
    assert "absent.html" in printed
    assert "GET / " not in printed


def test_taken_port_is_said(server, site, capsys):
    port = server.server_port
    assert main(["--site", str(site), "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert f"Port {port} is taken by another program" in said
    assert "--port" in said


def test_missing_site_is_said_with_the_way_to_it(tmp_path, capsys):
    assert main(["--site", str(tmp_path / "absent")]) == 2
    assert "`make book` builds it" in capsys.readouterr().err


def test_without_a_port_the_next_free_one_is_taken(site):
    with open_server(site, None) as first, open_server(site, None) as second:
        assert first.server_port != second.server_port


def test_stops_cleanly_when_interrupted(site):
    command = [sys.executable, "-m", "coursekit.site.serve", "--site", str(site), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert "http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=30)
    assert process.returncode == 0
    assert said.strip() == "Stopped."
    assert complaints == ""
