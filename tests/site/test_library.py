"""The directive `{library}` shows the library's own source, and notices when it is gone."""

import textwrap

import pytest
from library import Missing, definition, module_file

SOURCE = textwrap.dedent(
    '''
    """A module."""
    LIMIT = 3
    WIDTH: int = 4


    def plain(x):
        """Say what.

        More.
        """

        # why
        return x + LIMIT  # how


    @decorated
    def wrapped(x):
        return x


    class Box:
        """A box."""

        size = 1

        def open(self):
            """Open it."""
            return self.size
    '''
)


def test_function_comes_without_its_docstring_and_with_its_comments():
    assert definition(SOURCE, "plain") == ("def plain(x):\n    # why\n    return x + LIMIT  # how")


def test_decorator_belongs_to_the_function():
    assert definition(SOURCE, "wrapped").startswith("@decorated\ndef wrapped")


def test_method_is_dedented():
    assert definition(SOURCE, "Box.open") == "def open(self):\n    return self.size"


def test_class_loses_all_docstrings():
    assert definition(SOURCE, "Box") == (
        "class Box:\n    size = 1\n\n    def open(self):\n        return self.size"
    )


@pytest.mark.parametrize(("name", "text"), [("LIMIT", "LIMIT = 3"), ("WIDTH", "WIDTH: int = 4")])
def test_constants(name, text):
    assert definition(SOURCE, name) == text


@pytest.mark.parametrize("name", ["absent", "Box.absent", "plain.x", "A"])
def test_missing_name_is_said(name):
    with pytest.raises(Missing, match="renamed"):
        definition(SOURCE, name)


def test_module_is_found_without_importing_it():
    path, title = module_file("coursekit.site.claims")
    assert path.is_file()
    assert title == "coursekit/site/claims.py"


def test_package_is_found():
    assert module_file("coursekit.site")[1] == "coursekit/site/__init__.py"


@pytest.mark.parametrize("module", ["nosuchpackage.part", "coursekit.nosuchmodule", "json.nothing"])
def test_missing_module_is_said(module):
    with pytest.raises(Missing, match="there is no"):
        module_file(module)


def test_page_shows_source_under_its_file_name(tiny_book):
    book = tiny_book(
        "library", index="# T\n\n```{library} coursekit.site.claims settle\n```\n"
    ).build()
    box = book.page().select_one(".library-source")
    assert book.warnings == ""
    assert box.select_one(".library-title").get_text() == "coursekit/site/claims.py"
    assert box.pre.get_text().startswith("def settle(")
    assert '"""' not in box.pre.get_text()


def test_several_names_are_shown_in_the_order_asked_for(tiny_book):
    index = "# T\n\n```{library} coursekit.site.claims DOES_NOT_HOLD HOLDS\n```\n"
    shown = tiny_book("library", index=index).build().page().pre.get_text()
    assert shown.index("DOES_NOT_HOLD =") < shown.index("HOLDS = ")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("coursekit.site.claims gone", "no name 'gone'"),
        ("coursekit.site.gone settle", "no module 'coursekit.site.gone'"),
        ("coursekit.site.claims", "name what to show"),
    ],
)
def test_page_warns_when_the_source_is_gone(tiny_book, asked, reason):
    book = tiny_book("library", index=f"# T\n\n```{{library}} {asked}\n```\n").build()
    assert "WARNING" in book.warnings
    assert reason in book.warnings


def test_page_is_read_again_when_the_library_changes(tiny_book, tmp_path, monkeypatch):
    package = tmp_path / "shelf"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    book = tiny_book("library", index="# T\n\n```{library} shelf.part f\n```\n").build()
    assert book.build().updated == frozenset()
    (package / "part.py").write_text("def f():\n    return 22\n")
    book.build()
    assert "return 22" in book.page().pre.get_text()
