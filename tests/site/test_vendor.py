"""Fetching KaTeX: from the locked npm package, only what the site needs, and never half of it."""

import json
import os
import stat

import pytest
from sphinxcontrib import katex

from coursekit.site.vendor import CannotFetch, fetch_katex, katex_is_complete
from tests.site.conftest import ROOT

STYLE = (
    '@font-face{font-family:A;src:url(fonts/A-Regular.woff2) format("woff2"),'
    'url(fonts/A-Regular.woff) format("woff"),url(fonts/A-Regular.ttf) format("truetype")}'
    ".katex{color:red}"
)


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Put a program called npm first on PATH: ``npm("shell script")``."""

    def make(script):
        tools = tmp_path / "tools"
        tools.mkdir()
        program = tools / "npm"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}/usr/bin{os.pathsep}/bin")

    return make


INSTALL = f"""
test "$1 $2" = "ci --ignore-scripts" || exit 9
mkdir -p node_modules/katex/dist/fonts
printf '%s' '{STYLE}' > node_modules/katex/dist/katex.min.css
touch node_modules/katex/LICENSE
for kind in woff2 woff ttf; do touch node_modules/katex/dist/fonts/A-Regular.$kind; done
"""


def test_style_and_script_are_of_one_version():
    package = json.loads((ROOT / "package.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert package["dependencies"] == {"katex": katex.katex_version}
    assert lock["packages"]["node_modules/katex"]["version"] == katex.katex_version


def test_lock_has_hashes_and_names_no_registry():
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    locked = {name: entry for name, entry in packages.items() if name}
    assert all(entry["integrity"].startswith("sha512-") for entry in locked.values())
    assert not [name for name, entry in locked.items() if "resolved" in entry]


def test_only_styles_and_modern_fonts_are_kept(tmp_path, npm):
    npm(INSTALL)
    fetch_katex(tmp_path)
    vendor = tmp_path / "book" / "vendor"
    kept = sorted(path.name for path in vendor.rglob("*") if path.is_file())
    assert kept == ["A-Regular.woff2", "LICENSE", "katex.min.css"]
    assert (vendor / "katex" / "katex.min.css").read_text() == (
        '@font-face{font-family:A;src:url(fonts/A-Regular.woff2) format("woff2")}.katex{color:red}'
    )
    assert katex_is_complete(vendor)


def test_missing_font_makes_it_incomplete(tmp_path, npm):
    npm(INSTALL)
    fetch_katex(tmp_path)
    (tmp_path / "book/vendor/katex/fonts/A-Regular.woff2").unlink()
    assert not katex_is_complete(tmp_path / "book" / "vendor")


def test_nothing_fetched_is_incomplete(tmp_path):
    assert not katex_is_complete(tmp_path)


def test_failure_gives_the_first_line_of_the_reason_and_touches_nothing(tmp_path, npm):
    npm("echo 'npm error network down' >&2; echo 'npm error more' >&2; exit 1")
    kept = tmp_path / "book" / "vendor" / "katex" / "katex.min.css"
    kept.parent.mkdir(parents=True)
    kept.write_text("old")
    with pytest.raises(CannotFetch, match=r"npm ci failed \(npm error network down\)"):
        fetch_katex(tmp_path)
    assert kept.read_text() == "old"


def test_missing_npm_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotFetch, match="npm was not found"):
        fetch_katex(tmp_path)
