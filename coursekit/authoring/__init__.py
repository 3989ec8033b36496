"""From the text sources in `solutions/` to what learners and instructors get; used by authors only.

Nothing is imported here, so that `coursekit --help` stays quick: jupytext and nbformat take their time.
"""
