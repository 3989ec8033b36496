"""Tests of `attnkit`."""
