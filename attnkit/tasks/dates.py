"""Lists of dates, English to Chinese, from the Unicode locale data: the alignment is known.

The strings come from CLDR through the package `babel`: real, short, and regular enough that each
Chinese number or weekday can be traced to the English word it translates. Training and test
share no day at all, so no test list can have been learnt by heart.
"""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["Dates", "Pair", "Split", "Vocabulary", "date_pair", "join", "load_dates"]

FIRST_DAY = datetime.date(1900, 1, 1)
LAST_DAY = datetime.date(2049, 12, 31)
ENGLISH, CHINESE = "en_US", "zh_Hans_CN"
TEST_SHARE = 10  # one day in ten is kept for testing
NO_PARTNER = -1  # the alignment of a token that translates no single source token

PAD, START, END = "<pad>", "<start>", "<end>"
# Words, whole numbers, punctuation marks; in Chinese a weekday (星期一 …) stays one token, because
# spelt character by character it takes a small model several times the training.
TOKEN = re.compile(r"星期.|[A-Za-z]+|\d+|[^\s\w]|\w")


@dataclass(frozen=True)
class Pair:
    """One list of dates in both languages, as tokens, with the alignment between them.

    Attributes
    ----------
    english, chinese : str
        The two strings as CLDR writes them.
    source, target : tuple of str
        Their tokens; the end token is not included.
    alignment : tuple of int
        For every target token the position of its source token, or -1 where it has none.

    Examples
    --------
    >>> pair = load_dates((1,), n_train=1, n_test=0).train[1].pairs[0]
    >>> len(pair.alignment) == len(pair.target)
    True
    """

    english: str
    chinese: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[int, ...]


@dataclass(frozen=True)
class Vocabulary:
    """A closed list of tokens, and the way from tokens to integers and back.

    Parameters
    ----------
    tokens : tuple of str
        Position is the integer that stands for the token. The padding token comes first.

    Examples
    --------
    >>> words = Vocabulary(("<pad>", "and", "May"))
    >>> words.encode(["May", "and"])
    array([2, 1])
    >>> words.decode([2, 1])
    ['May', 'and']
    """

    tokens: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def index(self) -> Mapping[str, int]:
        """Token to integer."""
        return _index(self.tokens)

    @property
    def pad(self) -> int:
        """The integer of the padding token."""
        return self.index[PAD]

    @property
    def start(self) -> int:
        """The integer of the token that a decoder reads first (target side only)."""
        return self.index[START]

    @property
    def end(self) -> int:
        """The integer of the token that closes every target (target side only)."""
        return self.index[END]

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Integers `(length,)` of the tokens; a token outside the vocabulary is a `ValueError`."""
        try:
            return np.array([self.index[token] for token in tokens], dtype=np.int64)
        except KeyError as unknown:
            raise ValueError(
                f"token {unknown} is not in this vocabulary of {len(self)} tokens; "
                f"it covers lists of dates from {FIRST_DAY.year} to {LAST_DAY.year}"
            ) from None

    def decode(self, integers: Iterable[int]) -> list[str]:
        """Tokens of the integers, padding and start left out, up to (without) the first end."""
        tokens = []
        for integer in integers:
            token = self.tokens[int(integer)]
            if token == END:
                break
            if token not in (PAD, START):
                tokens.append(token)
        return tokens


@dataclass(frozen=True)
class Split:
    """Examples as integer arrays: `N` lists, source length `S`, target length `T` (end included).

    Attributes
    ----------
    source : ndarray of int64, (N, S)
        Source tokens, padded on the right.
    target : ndarray of int64, (N, T)
        Target tokens; each row closes with the end token and is then padded.
    alignment : ndarray of int64, (N, T)
        Source position that each target token translates; -1 for 年, 月, 日, the words that join
        dates, the end token and padding.
    source_mask, target_mask : ndarray of bool, (N, S) and (N, T)
        True where there is a token, False where there is padding.
    pairs : tuple of Pair
        The same examples as text.

    Examples
    --------
    >>> split = load_dates((1,), n_train=3, n_test=0).train[1]
    >>> split.source.shape, bool(split.source_mask.all())
    ((3, 6), True)
    """

    source: np.ndarray
    target: np.ndarray
    alignment: np.ndarray
    source_mask: np.ndarray
    target_mask: np.ndarray
    pairs: tuple[Pair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def first(self, n: int) -> "Split":
        """The first `n` lists, or all if there are fewer.

        Examples
        --------
        >>> len(load_dates((2,), n_train=9, n_test=0).train[2].first(4))
        4
        """
        return Split(
            self.source[:n],
            self.target[:n],
            self.alignment[:n],
            self.source_mask[:n],
            self.target_mask[:n],
            self.pairs[:n],
        )


@dataclass(frozen=True)
class Dates:
    """The whole task, as `load_dates` returns it.

    Attributes
    ----------
    source_vocabulary, target_vocabulary : Vocabulary
        Fixed by the range of years, so they are the same whatever was drawn.
    train, test : dict of int to Split
        One split for each number of dates in a list; within a split all rows have equal length.

    Examples
    --------
    >>> dates = load_dates((1,), n_train=3, n_test=2)
    >>> len(dates.train[1].pairs), len(dates.test[1].pairs)
    (3, 2)
    """

    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    train: Mapping[int, Split]
    test: Mapping[int, Split]


def load_dates(
    n_dates: Sequence[int] = (1, 2, 3), *, n_train: int = 3800, n_test: int = 200, seed: int = 0
) -> Dates:
    """Draw lists of dates and write each in English (the source) and in Chinese (the target).

    One day in ten between 1900 and 2049 is a test day and never occurs in a training list, alone
    or among others. All lists of one split start with different days, so none is drawn twice.

    Parameters
    ----------
    n_dates : sequence of int
        How many dates a list has; one training and one test split for each number.
    n_train, n_test : int
        Lists in each of those splits; zero is allowed.
    seed : int
        Decides which days are test days and which lists are drawn. The lists of one length do not
        depend on the other lengths asked for.

    Returns
    -------
    Dates
        Vocabularies and splits as NumPy arrays.

    Raises
    ------
    ValueError
        If a number of dates is below one or asked for twice, or more lists are asked for than
        there are days to start them with.
    ModuleNotFoundError
        If `babel` is not installed.

    Notes
    -----
    The strings are CLDR's `full` date format and its standard list pattern for `en_US` and
    `zh_Hans_CN`.

    Examples
    --------
    >>> dates = load_dates((1, 2), n_train=5, n_test=3)
    >>> dates.train[2].source.shape, dates.train[2].target.shape
    ((5, 13), (5, 16))
    """
    wanted = [_count("n_dates", n, least=1) for n in n_dates]
    if len(set(wanted)) != len(wanted):
        raise ValueError(
            f"n_dates must name each number once, got {tuple(n_dates)}; "
            "lists of one length are one split, and n_train says how many there are"
        )
    n_train, n_test = _count("n_train", n_train, least=0), _count("n_test", n_test, least=0)

    n_days = (LAST_DAY - FIRST_DAY).days + 1
    shuffled = np.random.default_rng(seed).permutation(n_days)
    test_days, train_days = np.split(shuffled, [n_days // TEST_SHARE])

    source_vocabulary, target_vocabulary = _vocabularies()

    def draw(name: str, n: int, size: int, pool: np.ndarray, stream: int) -> Split:
        if size > len(pool):
            raise ValueError(
                f"{name} must be at most {len(pool)}, got {size}; "
                "each list of a split starts with a day of its own"
            )
        generator = np.random.default_rng([seed, n, stream])
        first = generator.choice(pool, size=(size, 1), replace=False)
        others = generator.choice(pool, size=(size, n - 1))
        rows = np.concatenate([first, others], axis=1)  # (size, n)
        pairs = [
            date_pair([FIRST_DAY + datetime.timedelta(days=int(day)) for day in row])
            for row in rows
        ]
        return _as_split(pairs, source_vocabulary, target_vocabulary)

    return Dates(
        source_vocabulary,
        target_vocabulary,
        train={n: draw("n_train", n, n_train, train_days, 0) for n in wanted},
        test={n: draw("n_test", n, n_test, test_days, 1) for n in wanted},
    )


def date_pair(days: Sequence[datetime.date]) -> Pair:
    """Write a list of dates in both languages and align the two.

    A year, month, day or weekday of the Chinese side is aligned with the English word of the same
    kind in the same place of the list; both languages keep the order of the list.

    Parameters
    ----------
    days : sequence of datetime.date
        At least one.

    Returns
    -------
    Pair

    Examples
    --------
    >>> pair = date_pair([datetime.date(1966, 9, 19)])
    >>> pair.english, pair.chinese
    ('Monday, September 19, 1966', '1966年9月19日星期一')
    >>> list(zip(pair.target, pair.alignment))
    [('1966', 5), ('年', -1), ('9', 2), ('月', -1), ('19', 3), ('日', -1), ('星期一', 0)]
    """
    if len(days) == 0:
        raise ValueError("days must hold at least one date, got none; was a slice empty?")
    format_date, format_list = _babel()
    english, chinese = (
        format_list([format_date(day, "full", locale=locale) for day in days], locale=locale)
        for locale in (ENGLISH, CHINESE)
    )
    source, target = TOKEN.findall(english), TOKEN.findall(chinese)
    return Pair(english, chinese, tuple(source), tuple(target), _align(source, target))


def join(splits: Iterable[Split]) -> Split:
    """Put splits of different lengths into one, padded on the right to the longest.

    Parameters
    ----------
    splits : iterable of Split
        At least one.

    Returns
    -------
    Split
        All examples, in the order given.

    Raises
    ------
    ValueError
        If there is no split.

    Examples
    --------
    >>> dates = load_dates((1, 3), n_train=2, n_test=0)
    >>> both = join(dates.train.values())
    >>> both.source.shape, both.source_mask.sum(axis=1).tolist()
    ((4, 21), [6, 6, 21, 21])
    """
    splits = tuple(splits)
    if not splits:
        raise ValueError(
            "splits must hold at least one split, got none; was a generator used up before?"
        )
    pairs = tuple(pair for split in splits for pair in split.pairs)
    return _as_split(pairs, *_vocabularies())


def _as_split(
    pairs: Sequence[Pair], source_vocabulary: Vocabulary, target_vocabulary: Vocabulary
) -> Split:
    sources = [source_vocabulary.encode(pair.source) for pair in pairs]
    targets = [target_vocabulary.encode((*pair.target, END)) for pair in pairs]
    alignments = [np.array((*pair.alignment, NO_PARTNER), dtype=np.int64) for pair in pairs]
    source, source_mask = _padded(sources, source_vocabulary.pad)
    target, target_mask = _padded(targets, target_vocabulary.pad)
    alignment, _ = _padded(alignments, NO_PARTNER)
    return Split(source, target, alignment, source_mask, target_mask, tuple(pairs))


def _padded(rows: Sequence[np.ndarray], filler: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]  # (N, longest)
    table = np.full(mask.shape, filler, dtype=np.int64)
    if len(rows):
        table[mask] = np.concatenate(rows)
    return table, mask


def _align(source: Sequence[str], target: Sequence[str]) -> tuple[int, ...]:
    """Pair tokens of one kind in the order in which they occur on either side."""
    waiting: dict[str, list[int]] = {}
    for position, token in enumerate(source):
        waiting.setdefault(_source_kind(token), []).append(position)
    alignment = []
    for token, follower in zip(target, (*target[1:], ""), strict=True):
        kind = _target_kind(token, follower)
        alignment.append(NO_PARTNER if kind is None else waiting[kind].pop(0))
    left_over = {kind: rest for kind, rest in waiting.items() if rest and kind != "function word"}
    if left_over:
        raise ValueError(
            f"source must name the dates of target, {target}, but tokens {left_over} of {source} have "
            "no partner there; has the locale data another form of dates?"
        )
    return tuple(alignment)


def _source_kind(token: str) -> str:
    names = _english_names()
    if token in names:
        return names[token]
    if token.isdigit():
        return "year" if len(token) == 4 else "day"
    return "function word"


def _target_kind(token: str, follower: str) -> str | None:
    if token.startswith("星期"):
        return "weekday"
    if token.isdigit():
        return {"年": "year", "月": "month", "日": "day"}[follower]
    return None


@cache
def _english_names() -> Mapping[str, str]:
    """Month and weekday names, read off the dates of one week and one year."""
    format_date, _ = _babel()
    week = [datetime.date(2024, 1, day) for day in range(1, 8)]
    months = [datetime.date(2024, month, 1) for month in range(1, 13)]
    return {
        **{format_date(day, "EEEE", locale=ENGLISH): "weekday" for day in week},
        **{format_date(day, "MMMM", locale=ENGLISH): "month" for day in months},
    }


@cache
def _vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """Every token that a list of dates in the range can contain, in a fixed order."""
    # These days show every weekday, month, day of the month and year; a list of three shows
    # every way in which dates are joined.
    leap_year = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(366)]
    years = [datetime.date(year, 1, 1) for year in range(FIRST_DAY.year, LAST_DAY.year + 1)]
    pairs = [date_pair([day]) for day in leap_year + years] + [
        date_pair(years[:2]),
        date_pair(years[:3]),
    ]
    source = {token for pair in pairs for token in pair.source}
    target = {token for pair in pairs for token in pair.target}
    return (
        Vocabulary((PAD, *sorted(source, key=_order))),
        Vocabulary((PAD, START, END, *sorted(target, key=_order))),
    )


def _order(token: str) -> tuple[bool, int, str]:
    """Words and signs first, then numbers by size."""
    return (token.isdigit(), int(token) if token.isdigit() else 0, token)


@cache
def _index(tokens: tuple[str, ...]) -> Mapping[str, int]:
    return {token: integer for integer, token in enumerate(tokens)}


def _babel():
    try:
        from babel.dates import format_date
        from babel.lists import format_list
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "the dates task needs the package babel, which holds the Unicode locale data; "
            "install it with: pip install 'attnkit[data]'",
            name=missing.name,
        ) from missing
    return format_date, format_list


def _count(name: str, value: int, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(
            f"{name} must be a whole number, got {value!r}; it counts things (// gives whole numbers)"
        )
    if value < least:
        raise ValueError(
            f"{name} must be at least {least}, got {value}; it counts things "
            "(is it the result of a subtraction or of //?)"
        )
    return int(value)
