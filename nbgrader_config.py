"""The course for nbgrader: where things lie, how long a cell may run; all of it below this folder."""

from pathlib import Path

c = get_config()  # noqa: F821 (given by traitlets)

course = Path(__file__).resolve().parent

c.CourseDirectory.root = str(course)
c.CourseDirectory.course_id = "attention-measured"
# Source notebooks are built from solutions/*.py by `make exercises`. The text sources must not lie
# beside them: nbgrader copies every file it finds there into the release.
c.CourseDirectory.source_directory = "_build/source"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "submitted"
c.CourseDirectory.autograded_directory = "autograded"
c.CourseDirectory.feedback_directory = "feedback"

# Without these two, release and list commands write to a folder for the whole system and to the
# home folder.
c.Exchange.root = str(course / "_build" / "exchange")
c.Exchange.cache = str(course / "_build" / "exchange_cache")

# Seconds for one cell. An endless loop takes this long in every cell that calls it.
c.ExecutePreprocessor.timeout = 60
c.ExecutePreprocessor.iopub_timeout = 10

# A deleted test cell is put back: its absence is no reason to lose the marks.
c.OverwriteCells.add_missing_cells = True
