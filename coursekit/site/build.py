"""Builds the website: ``python -m coursekit.site.build`` (``make book``).

Checks what is needed, fetches styles and fonts of formulas if they are missing, executes pages whose
code or library changed, and runs Jupyter Book with warnings as errors. Both run in processes of their
own; pages are shown with their time as they are executed.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from coursekit.site.vendor import CannotFetch, fetch_katex, katex_is_complete

ROOT = Path(__file__).resolve().parents[2]
EXECUTE = "import sys; from coursekit.site.execute import main; sys.exit(main())"
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"
KEPT_CACHES = 3

EXECUTING = re.compile(r"(?:\[.*\] )?Executing: (?P<page>.+)")
EXECUTED = re.compile(r"(?:\[.*\] )?(?P<end>Execution \w+|Failed \w+): (?P<page>.+)")
STDERR = re.compile(r"^(.+?):\d+: ERROR: stderr was found", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[\d;]*m")
KERNEL_CHATTER = "[IPKernelApp]"  # how the kernel is connected; no concern of a page


class Progress:
    """Says which pages are running, for how long, and what they took.

    To a person the line of the running pages counts the seconds; in a log each page has one line.
    """

    def __init__(self, root: Path, stream: TextIO) -> None:
        self.root = root
        self.stream = stream
        self.is_terminal = stream.isatty()
        self.running: dict[str, float] = {}
        self.executed: dict[str, float] = {}
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Print one line, above the line of the running pages."""
        with self._lock:
            self._clear()
            print(text, file=self.stream, flush=True)

    def begin(self, page: str) -> None:
        """Note that a page starts to run."""
        with self._lock:
            self.running[page] = time.monotonic()
        self.tick()

    def end(self, page: str, *, failed: bool = False) -> None:
        """Note that a page has ended."""
        with self._lock:
            taken = time.monotonic() - self.running.pop(page, time.monotonic())
        self.executed[page] = taken
        self.say(f"  {'failed' if failed else 'done':>6} {taken:6.1f} s  {page}")

    def tick(self) -> None:
        """Count the seconds of the running pages, where somebody may be watching."""
        if not self.is_terminal:
            return
        with self._lock:
            if self.running:
                elapsed = time.monotonic() - min(self.running.values())
                pages = ", ".join(Path(page).stem for page in self.running)
                width = shutil.get_terminal_size().columns - 1
                self.stream.write(f"\r\x1b[K{f' running {elapsed:6.1f} s  {pages}'[:width]}")
                self.stream.flush()

    def name(self, path: str) -> str:
        """Return a page's path as a person would type it."""
        try:
            return Path(path).resolve().relative_to(self.root).as_posix()
        except ValueError:
            return path

    def _clear(self) -> None:
        if self.is_terminal:
            self.stream.write("\r\x1b[K")


def check_formulas(root: Path, say: Callable[[str], None]) -> None:
    """Fetch what rendering formulas needs; where that fails, say in one sentence what happens instead."""
    if shutil.which("node") is None:
        say(
            "Node.js was not found, so formulas will be rendered in the reader's browser; "
            "to render them here, install Node.js 18 or newer (with npm) and build again."
        )
        return
    if katex_is_complete(root / "book" / "vendor"):
        return
    say("Fetching the styles and fonts of formulas (npm package katex) …")
    try:
        fetch_katex(root)
    except CannotFetch as error:
        say(
            f"They could not be fetched: {error}; formulas will be rendered in the reader's browser. "
            "To render them here, make npm work (it comes with Node.js 18 or newer) and build again."
        )


def forget_old_caches(caches: Path) -> None:
    """Keep the most recently used folders of executed pages, and delete the others."""
    if not caches.is_dir():
        return
    folders = [folder for folder in caches.iterdir() if folder.is_dir()]
    folders.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in folders[KEPT_CACHES:]:
        shutil.rmtree(folder)


def build(root: Path, *, verbose: bool = False, stream: TextIO | None = None) -> int:
    """Build the site of the repository at `root` into ``_build/html``.

    Parameters
    ----------
    root : Path
        The folder with `_config.yml` and `_toc.yml`.
    verbose : bool
        Whether to pass on everything that Jupyter Book prints.
    stream : file, optional
        Where progress goes; standard output if left out.

    Returns
    -------
    int
        0, or what Jupyter Book returned (never 0 if there was a warning).
    """
    progress = Progress(root.resolve(), stream or sys.stdout)
    check_formulas(root, progress.say)
    started = time.monotonic()
    progress.say("Building the site; pages whose code or library changed are executed.")
    steps = (
        ([EXECUTE, "--root", str(root)], _raised_by_pages),
        ([JUPYTER_BOOK, "build", str(root), "-W", "-n", "--keep-going"], _explain),
    )
    for arguments, explain in steps:
        try:
            status, said, complaints = _run(arguments, root, progress, verbose)
        except KeyboardInterrupt:
            progress.say("Stopped. Pages that were done stay done.")
            return 130
        if status:
            explain(progress, said, complaints)
            return status
    forget_old_caches(root / "_build" / ".jupyter_cache")
    pages = len(list((root / "_build" / "html" / "book").rglob("*.html")))
    progress.say(
        f"The site is in _build/html: {pages} pages, {len(progress.executed)} executed, "
        f"{time.monotonic() - started:.0f} s. Look at it with `make serve`."
    )
    return 0


def _run(
    arguments: list[str], root: Path, progress: Progress, verbose: bool
) -> tuple[int, list[str], list[str]]:
    """Run one step, and return its status, the end of what it said, and what it complained about."""
    with subprocess.Popen(
        [sys.executable, "-c", *arguments],
        cwd=root,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        complaints: list[str] = []
        said: deque[str] = deque(maxlen=300)
        threads = [
            threading.Thread(target=_follow, args=(process.stdout, progress, said, verbose)),
            threading.Thread(target=_collect, args=(process.stderr, progress, complaints)),
            threading.Thread(target=_tick_until_ended, args=(process, progress)),
        ]
        for thread in threads:
            thread.start()
        try:
            process.wait()
        finally:
            _end_all(process)
            for thread in threads:
                thread.join()
    return process.returncode, list(said), complaints


def _end_all(process: subprocess.Popen) -> None:
    """End the build and whatever it has left running: a kernel, or the renderer of formulas.

    Their ends of the pipes would otherwise keep us reading.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


def _follow(lines: Iterable[str], progress: Progress, said: deque[str], verbose: bool) -> None:
    """Read what a step says, and keep the last lines."""
    for line in (COLOUR.sub("", raw).rstrip() for raw in lines):
        said.append(line)
        if verbose:
            progress.say(line)


def _collect(lines: Iterable[str], progress: Progress, complaints: list[str]) -> None:
    """Read what a step complains about, and which pages it says begin and end."""
    for line in (COLOUR.sub("", raw).rstrip() for raw in lines):
        if match := EXECUTING.fullmatch(line):
            progress.begin(progress.name(match["page"]))
        elif match := EXECUTED.fullmatch(line):
            progress.end(
                progress.name(match["page"]), failed=match["end"] != "Execution Successful"
            )
        elif line and not line.startswith(KERNEL_CHATTER):
            complaints.append(line)


def _tick_until_ended(process: subprocess.Popen, progress: Progress) -> None:
    while process.poll() is None:
        progress.tick()
        time.sleep(0.5)


def _raised_by_pages(progress: Progress, said: list[str], complaints: list[str]) -> None:
    """Print why pages could not be executed: what they raised, or what the step complained about."""
    progress.say("\nThe build failed: a page could not be executed.")
    for line in said or complaints:
        progress.say(line)


def _explain(progress: Progress, said: list[str], complaints: list[str]) -> None:
    """Print why Jupyter Book failed: its complaints, then what pages printed to stderr."""
    progress.say("\nThe build failed; every warning counts:\n")
    for line in complaints or said[-30:]:
        progress.say(f"  {line}")
    for page in dict.fromkeys(STDERR.findall("\n".join(complaints))):
        progress.say(f"\n{progress.name(page)} printed to stderr:\n\n{_printed(progress, page)}")


def _printed(progress: Progress, page: str) -> str:
    """Return what an executed page printed to stderr."""
    from jupyter_cache import get_cache

    from coursekit.site.execute import cache_folder

    cache = get_cache(str(cache_folder(progress.root)))
    record = cache.get_cached_project_nb(str(Path(page).resolve()))
    cells = cache.get_cache_bundle(record.pk).nb.cells
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    return "".join(output.text for output in outputs if output.get("name") == "stderr").rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m coursekit.site.build", description=__doc__)
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the repository (default: this one)"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="pass on all that Jupyter Book prints"
    )
    options = parser.parse_args(arguments)
    if not (options.root / "_toc.yml").is_file():
        print(
            f"There is no _toc.yml in {options.root}, so there is no book to build.",
            file=sys.stderr,
        )
        return 2
    if find_spec("jupyter_book") is None:
        print(
            "Jupyter Book is not installed for this Python; `make setup` installs all that is needed.",
            file=sys.stderr,
        )
        return 2
    return build(options.root, verbose=options.verbose)


if __name__ == "__main__":
    sys.exit(main())
