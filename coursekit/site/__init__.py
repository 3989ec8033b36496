"""The website: what pages call while they run, the build, the local server, checks of the result.

Mechanisms of attention live in `attnkit`; the Sphinx extensions live in `book/_ext`.
"""
