"""Names for a simulated class: plain ones, and odd ones of the kinds that nbgrader can live with.

No glob characters: nbgrader passes over a folder called `[x]` without a word.
"""

__all__ = ["ODD", "student_names"]

ODD = (
    "李明",
    "Zoë O'Connor",
    "van der Berg, Anna",
    "=1+1",
    "Łukasz Żółć",
    '"Bo" Nguyễn',
    "a" * 100,
)
"""In order: Chinese, an apostrophe, a comma, a spreadsheet formula, diacritics, quotes, length."""

GIVEN = ("aisha", "bilal", "chiara", "dmitri", "elif", "femi", "greta", "hiro", "inga", "joao")
FAMILY = ("adeyemi", "bauer", "castillo", "dubois", "eriksen", "fischer", "gupta", "haddad", "ito",
          "jansen", "kowalska", "lindqvist", "moreau", "novak")  # fmt: skip


def student_names(count: int) -> tuple[str, ...]:
    """Return as many different names, always the same ones; the odd ones come first.

    Examples
    --------
    >>> student_names(9)[-2:]
    ('aisha.adeyemi', 'bilal.bauer')
    """
    # The shift after each round of the two lists makes every pair come up once.
    shift = len(GIVEN) * len(FAMILY) // 2
    plain = [
        f"{GIVEN[i % len(GIVEN)]}.{FAMILY[(i + i // shift) % len(FAMILY)]}"
        for i in range(2 * shift)
    ]
    if count > len(ODD) + len(plain):
        plain += [f"student.{number:04d}" for number in range(count)]
    return (*ODD, *plain)[:count]
