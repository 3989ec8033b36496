"""10.beam_by_hand: greedy decoding and a beam of two, followed on paper."""

import numpy as np

from attnkit.numpy import beam_search, greedy

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call

# start, A, B, C and the end: what may follow each, and with which probability
PROBABILITIES = np.array(
    [
        [0.0, 0.45, 0.30, 0.25, 0.0],
        [0.0, 0.0, 0.6, 0.0, 0.4],
        [0.0, 0.0, 0.0, 0.2, 0.8],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)


def on_paper():
    """Greedy's text, the beam after two steps and at the end, the best text, the best root."""
    with np.errstate(divide="ignore"):
        table = np.log(PROBABILITIES)

    def step(token, state):
        return table[token], state

    def best(beam_width, max_length=5, length_penalty=0.0):
        """The probability of the best text found, or its root under a length penalty of 1."""
        tokens, scores = beam_search(
            step,
            [0],
            end=4,
            max_length=max_length,
            beam_width=beam_width,
            length_penalty=length_penalty,
        )
        length = (tokens[0, 0] != 4).sum() + 1  # with its end
        return np.exp(scores[0, 0] / length**length_penalty)

    (text,) = greedy(step, [0], end=4, max_length=5)
    by_greedy = PROBABILITIES[[0, *text[:-1]], text].prod()
    # Eight hypotheses are more than there are texts: nothing is lost.
    return np.array([by_greedy, best(2, max_length=2), best(2), best(8), best(8, 5, 1.0)])


def the_end_not_counted():
    return np.array([0.27, 0.27, 0.3, 0.25, 0.52])


def beam_is_greedy():
    return np.array([0.216, 0.27, 0.216, 0.216, 0.6])


def beam_is_exact():
    return np.array([0.216, 0.27, 0.25, 0.25, 0.6])


def finished_forgotten():
    return np.array([0.216, 0.27, 0.216, 0.25, 0.6])


def probabilities_added():
    return np.array([1.85, 1.05, 1.85, 1.85, 1.85 / 3])


def divided_not_rooted():
    return np.array([0.216, 0.27, 0.24, 0.25, 0.25 / 2])


def logarithms_returned():
    return np.log(np.array([0.216, 0.27, 0.24, 0.25, 0.6]))


def mean_of_the_best_text():
    return np.array([0.216, 0.27, 0.24, 0.25, 0.5])


def best_for_greedy():
    return np.array([0.25, 0.27, 0.24, 0.25, 0.6])


def greedy_ends_early():
    return np.array([0.18, 0.27, 0.24, 0.25, 0.6])


def greedy_without_its_end():
    return np.array([0.27, 0.27, 0.24, 0.25, 0.6])


def second_in_the_beam():
    return np.array([0.216, 0.24, 0.24, 0.25, 0.6])


def three_beginnings_held():
    return np.array([0.216, 0.25, 0.24, 0.25, 0.6])


def best_of_the_beam():
    return np.array([0.216, 0.27, 0.24, 0.24, 0.6])


def root_of_the_beams_best():
    return np.array([0.216, 0.27, 0.24, 0.25, 0.49])


def square_root_of_three():
    return np.array([0.216, 0.27, 0.24, 0.25, 0.465])


def cube_root_of_two():
    return np.array([0.216, 0.27, 0.24, 0.25, 0.63])


MISTAKES = (
    Mistake(
        "the end not counted",
        the_end_not_counted,
        "You left out the last factor, the probability that the text ends where it does. The end "
        "is a token like the others, and it has a probability.",
    ),
    Mistake(
        "the beam taken for greedy",
        beam_is_greedy,
        "Everywhere you followed the best next token. A beam of two keeps B after the first step as "
        "well, and the most probable text of all may begin with any token.",
    ),
    Mistake(
        "the beam taken for an exhaustive search",
        beam_is_exact,
        "In the third question you gave the best text there is. After the first step a beam of two "
        "has kept A and B only, and what was dropped does not come back.",
    ),
    Mistake(
        "a finished text forgotten",
        finished_forgotten,
        "In the third question the text that ended after two steps is gone. It stays in the beam "
        "with the probability it has, and may win in the end.",
    ),
    Mistake(
        "probabilities added",
        probabilities_added,
        "You added. The probability of a text is the product of those of its tokens; it is their "
        "logarithms that are added.",
    ),
    Mistake(
        "divided, and no root",
        divided_not_rooted,
        "In the last question you divided a probability by a length. Divided is its *logarithm*; "
        "for the probability itself this is a root: the third root, for three tokens.",
    ),
    Mistake(
        "logarithms returned",
        logarithms_returned,
        "These are the logarithms. Asked for are probabilities, which lie between 0 and 1.",
    ),
    Mistake(
        "the most probable text's mean",
        mean_of_the_best_text,
        "In the last question you took the most probable text. Ranked by the mean, another one wins: "
        "work out the mean of each of the six texts.",
    ),
    Mistake(
        "the best text for greedy",
        best_for_greedy,
        "In the first question you gave the most probable text. Greedy takes the best first "
        "token, A, and nothing brings it back to C.",
    ),
    Mistake(
        "greedy that ends early",
        greedy_ends_early,
        "In the first question you let the text end after A. There B has 0.6 and the end 0.4, and "
        "greedy takes the larger.",
    ),
    Mistake(
        "greedy without its end",
        greedy_without_its_end,
        "In the first question you left out the last factor: after A B the text ends with a "
        "probability of 0.8, and that is a token like others.",
    ),
    Mistake(
        "the second in the beam",
        second_in_the_beam,
        "In the second question you gave the other beginning that is held after two steps. The "
        "better one is A B, with 0.45 times 0.6; that it has not ended yet does not matter.",
    ),
    Mistake(
        "a third beginning held",
        three_beginnings_held,
        "In the second question you went on from C. After the first step a beam of two holds A "
        "and B only.",
    ),
    Mistake(
        "the best that the beam found",
        best_of_the_beam,
        "In the fourth question you gave what the beam found. Ask all six texts: the most "
        "probable one begins with C, which the beam dropped after the first step.",
    ),
    Mistake(
        "the root of the beam's best",
        root_of_the_beams_best,
        "In the last question you took the root of the text that the beam found. Ranked by the "
        "root another text wins: work out the root of each of the six.",
    ),
    Mistake(
        "the square root of three tokens",
        square_root_of_three,
        "In the last question you took a square root of 0.216. A B *end* are three tokens: the "
        "cube root.",
    ),
    Mistake(
        "the cube root of two tokens",
        cube_root_of_two,
        "In the last question you took a cube root of 0.25. C *end* are two tokens: the square "
        "root.",
    ),
)

EXERCISE = Exercise(
    identifier="10.beam_by_hand",
    assignment="10_decoding",
    title="By hand: greedy and a beam of two",
    kind="by hand",
    answer="beam_by_hand",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "Draw a tree: start at the left, a branch for each token that may follow, and at each "
        "branch the product of the probabilities up to there.",
        "After the first step a beam of two holds the two best of three branches. From these two "
        "there are four continuations; the end is one like the others. Keep two, and a text that has "
        "ended stays as it is. For the last question, a mean of three logarithms is the logarithm of "
        "a third root.",
        "There are six texts, and their probabilities sum to one. For the last question compare the "
        "cube root of the longest that looks good with the square roots of the short ones: "
        "$0.5^3 = 0.125$ and $0.7^3 = 0.343$, so a cube root is quickly found.",
    ),
    returns=("probabilities",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    absolute=0.001,
)
