"""Tests, in the folders of what they test; a package, so that tests can share helpers."""
