"""Serves the built website on this machine: ``python -m coursekit.site.serve``; it builds nothing."""

import argparse
import errno
import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_PORT = 8000
TRIES = 20


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and prints only requests that failed."""

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Stay silent about what went well."""
        if str(getattr(code, "value", code)).startswith(("4", "5")):
            super().log_request(code, size)

    def end_headers(self) -> None:
        """Let a browser ask again each time: the site may have been built anew."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def open_server(site: Path, port: int | None) -> ThreadingHTTPServer:
    """Return a server of the folder `site` on 127.0.0.1.

    Parameters
    ----------
    site : Path
        The folder that is served.
    port : int or None
        The port; None takes the first free one from 8000 on. 0 takes any free one.

    Raises
    ------
    OSError
        If the port is taken, or none of those tried is free.
    """
    handler = functools.partial(QuietHandler, directory=str(site))
    if port is not None:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    for candidate in range(DEFAULT_PORT, DEFAULT_PORT + TRIES):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, "no free port")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m coursekit.site.serve", description=__doc__)
    parser.add_argument("--port", type=int, help=f"default: the first free one from {DEFAULT_PORT}")
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html", help="what to serve")
    options = parser.parse_args(arguments)
    if not (options.site / "index.html").is_file():
        print(f"There is no website in {options.site} yet; `make book` builds it.", file=sys.stderr)
        return 2
    try:
        server = open_server(options.site, options.port)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        reason = "is taken by another program" if taken else f"cannot be used ({error.strerror})"
        which = f"Port {options.port}" if options.port is not None else "Every port tried"
        print(f"{which} {reason}; choose another one with --port.", file=sys.stderr)
        return 2
    with server:
        address = f"http://127.0.0.1:{server.server_port}/"
        try:
            print(f"The course is at {address}  (Ctrl-C stops the server)", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nStopped.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
