"""Pages are executed again when, and only when, something that their figures depend on has changed."""

import os

import pytest

from coursekit.site.execute import fingerprint, notebooks

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@pytest.fixture
def repository(tmp_path):
    """A folder with one of each kind of file that matters, and some that do not."""
    for name in (
        "constraints.txt",
        "attnkit/numpy/weights.py",
        "coursekit/site/claims.py",
        "coursekit/site/serve.py",
        "coursekit/cli.py",
        "book/data/run.json",
        "book/scripts/run.py",
        "book/index.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "constraints.txt",
        "attnkit/numpy/weights.py",
        "coursekit/site/claims.py",
        "book/data/run.json",
        "book/scripts/run.py",
    ],
)
def test_what_figures_depend_on_changes_the_fingerprint(repository, name):
    before = fingerprint(repository)
    (repository / name).write_text("changed")
    assert fingerprint(repository) != before


@pytest.mark.parametrize("name", ["coursekit/site/serve.py", "coursekit/cli.py", "book/index.md"])
def test_other_files_do_not(repository, name):
    before = fingerprint(repository)
    (repository / name).write_text("changed")
    (repository / "attnkit" / "__pycache__").mkdir()
    (repository / "attnkit" / "__pycache__" / "weights.py").write_text("compiled")
    assert fingerprint(repository) == before


def test_renamed_module_changes_the_fingerprint(repository):
    before = fingerprint(repository)
    (repository / "attnkit/numpy/weights.py").rename(repository / "attnkit/numpy/scores.py")
    assert fingerprint(repository) != before


def test_pages_with_code_are_found(repository):
    (repository / "_toc.yml").write_text(
        "root: book/index\nchapters:\n  - file: book/one\n  - file: book/gone\n"
    )
    (repository / "book/one.md").write_text("---\nfile_format: mystnb\n---\n# One\n")
    (repository / "book/other.md").write_text("---\nfile_format: mystnb\n---\n# Not listed\n")
    assert notebooks(repository) == [repository / "book/one.md"]


def test_cache_is_named_by_the_fingerprint_and_kernels_get_one_thread(tiny_book, monkeypatch):
    for variable in ONE_THREAD:
        monkeypatch.setenv(variable, "8")
    book = tiny_book("execution").build()
    assert f".jupyter_cache/{fingerprint(book.folder)}" in book.status
    assert [os.environ[variable] for variable in ONE_THREAD] == ["1"] * len(ONE_THREAD)


def test_changed_library_makes_every_page_be_read_again(tiny_book, monkeypatch):
    for variable in ONE_THREAD:
        monkeypatch.setenv(variable, "1")
    book = tiny_book("execution").build()
    assert book.build().updated == frozenset()
    book.write("attnkit/new.py", "x = 1\n")
    assert book.build().updated == {"index"}


def test_reports_of_an_earlier_failure_are_not_published(tiny_book, monkeypatch):
    for variable in ONE_THREAD:
        monkeypatch.setenv(variable, "1")
    book = tiny_book("execution")
    book.write("_build/html/reports/index.err.log", "old")
    book.build()
    assert not (book.folder / "_build/html/reports").exists()
