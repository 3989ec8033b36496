"""Collects the right but unusual answers in the folder beside it, a file an assignment."""

ANSWERS = {}


def answers(identifier):
    """Collect what is decorated with it, a function or a class, as a right answer of an exercise."""

    def collect(answer):
        # Kept by name: a file that pytest imports a second time, for its doctests, adds nothing.
        ANSWERS.setdefault(identifier, {})[answer.__name__] = answer
        return answer

    return collect
