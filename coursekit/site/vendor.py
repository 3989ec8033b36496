"""Fetches what the site serves but nobody wrote here: the styles and fonts of KaTeX.

They come from the npm package named in `package.json`, at the version that the Python package
sphinxcontrib-katex carries as a script, and land in `book/vendor/katex`, which is not committed.
"""

import re
import shutil
import subprocess
from pathlib import Path

FONT_SOURCE = re.compile(r"url\(fonts/(?P<name>[\w-]+)\.woff2\) format\(\"woff2\"\)[^;}]*")


class CannotFetch(RuntimeError):
    """The styles and fonts are not there and cannot be had; the message says why, for a person."""


def katex_is_complete(vendor: Path) -> bool:
    """Return whether the styles and every font that they name are in `vendor`."""
    style = vendor / "katex" / "katex.min.css"
    if not style.is_file():
        return False
    named = re.findall(r"url\((fonts/[^)]+)\)", style.read_text(encoding="utf-8"))
    return bool(named) and all((style.parent / name).is_file() for name in named)


def fetch_katex(root: Path) -> None:
    """Put KaTeX's styles and `woff2` fonts into `book/vendor/katex`.

    Parameters
    ----------
    root : Path
        The repository; `package.json` and its lock lie there.

    Raises
    ------
    CannotFetch
        If npm is missing or fails. What was in `book/vendor` before stays as it was.
    """
    if shutil.which("npm") is None:
        raise CannotFetch("npm was not found")
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if result.returncode:
        reason = (result.stderr.strip() or result.stdout.strip()).splitlines()
        raise CannotFetch(f"npm ci failed ({reason[0] if reason else 'without a reason'})")
    _copy(root / "node_modules" / "katex", root / "book" / "vendor")


def _copy(package: Path, vendor: Path) -> None:
    """Copy from the npm package, in a folder beside the target that then takes its place."""
    fresh, target = vendor / "katex.new", vendor / "katex"
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "fonts").mkdir(parents=True)
    # Browsers older than woff2 cannot read this site anyway, so the other formats are not named.
    style = FONT_SOURCE.sub(
        r'url(fonts/\g<name>.woff2) format("woff2")',
        (package / "dist" / "katex.min.css").read_text(encoding="utf-8"),
    )
    (fresh / "katex.min.css").write_text(style, encoding="utf-8")
    for font in sorted((package / "dist" / "fonts").glob("*.woff2")):
        shutil.copy(font, fresh / "fonts")
    shutil.copy(package / "LICENSE", fresh)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
