"""A synthetic class: submissions as learners make them, with the marks each should get."""

from coursekit.simulate.classroom import (
    Submission,
    simulated_class,
    solved_notebook,
    write_class,
)

__all__ = ["Submission", "simulated_class", "solved_notebook", "write_class"]
