"""Questions about two digits, answered by cross-attention over the patches of the image (chapter 6)."""

import torch
from torch import nn

from attnkit.tasks.digits import N_CLASSES, QUESTIONS, SIDE

from ..errors import check_size
from ._examples import Linear, draw_rows, placed, tensors
from .attention import scaled_dot_product_attention
from .training import fit_on_draws
from .transformer import LayerNorm
from .vision import patchify

__all__ = ["N_PATCHES", "PATCH_SIDE", "DigitReader", "question_tensors", "train_digits"]

PATCH_SIDE = 14
N_PATCHES = (SIDE // PATCH_SIDE) * (2 * SIDE // PATCH_SIDE)  # two rows of four


class DigitReader(nn.Module):
    """Cross-attention: one query, made from the question, over the patches of an image.

    The question enters in the query only, and the answer is made from what that query hears. So all
    that the reader knows of left and right has to go through the weights.

    Parameters
    ----------
    d_model : int
        The width.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> reader = DigitReader(16)
    >>> patches, question = torch.zeros(3, 8, 196), torch.tensor([0, 1, 1])
    >>> logits, weights = reader(patches, question, return_weights=True)
    >>> logits.shape, weights.shape
    (torch.Size([3, 10]), torch.Size([3, 8]))
    """

    def __init__(self, d_model=96):
        super().__init__()
        d_model = check_size("d_model", d_model, 1)
        self.patch = Linear(PATCH_SIDE**2, d_model)
        self.place = nn.Parameter(torch.randn(N_PATCHES, d_model))
        self.question = nn.Embedding(len(QUESTIONS), d_model)
        self.query, self.key, self.value = (Linear(d_model, d_model, bias=False) for _ in range(3))
        self.answer = nn.Sequential(
            LayerNorm(d_model),
            Linear(d_model, d_model),
            nn.ReLU(),
            Linear(d_model, N_CLASSES),
        )

    def forward(self, patches, question, mask=None, *, return_weights=False):
        """Score the digits that may stand where the question asks.

        Parameters
        ----------
        patches : torch.Tensor, shape (N, 8, 196)
            Pixels from 0 to 1, see `question_tensors`.
        question : torch.Tensor of int, shape (N,)
            0 for the left digit, 1 for the right one.
        mask : torch.Tensor of bool, shape (N, 8), optional
            True where the question may look at a patch.
        return_weights : bool
            Return the weights of the question too.

        Returns
        -------
        logits : torch.Tensor, shape (N, 10)
            In the wider dtype of patches and parameters.
        weights : torch.Tensor, shape (N, 8)
            Only with ``return_weights=True``.
        """
        image = torch.relu(self.patch(patches) + self.place)  # (N, 8, d_model)
        query = self.query(self.question(question))[:, None]  # (N, 1, d_model)
        key, value = self.key(image), self.value(image)  # (N, 8, d_model)
        context, weights = scaled_dot_product_attention(
            query, key, value, None if mask is None else mask[:, None], return_weights=True
        )
        logits = self.answer(context[:, 0])  # (N, 10)
        return (logits, weights[:, 0]) if return_weights else logits


def question_tensors(asked):
    """Cut the images of questions into patches, and hand on what is asked and what is right.

    Parameters
    ----------
    asked : ImageQuestions
        See `attnkit.tasks.digits.image_questions`.

    Returns
    -------
    patches : torch.Tensor, shape (N, 8, 196)
        Pixels from 0 (paper) to 1 (ink), row by row of patches: the first, second, fifth and sixth
        show the left digit.
    question, answer : torch.Tensor of int64, shape (N,)

    Examples
    --------
    >>> from attnkit.tasks.digits import image_questions, load_digits
    >>> patches, question, answer = question_tensors(image_questions(load_digits().test, 3))
    >>> patches.shape, question.shape, answer.shape
    (torch.Size([3, 8, 196]), torch.Size([3]), torch.Size([3]))
    """
    images = torch.from_numpy(asked.images)[:, None] / 255  # (N, 1, 28, 56)
    return patchify(images, PATCH_SIDE), *tensors(asked.questions, asked.answers)


def train_digits(
    model, asked, *, n_steps=1000, batch_size=64, learning_rate=3e-3, seed=0, label="training"
):
    """Train a reader on given questions.

    Parameters
    ----------
    model : DigitReader
        Changed in place, on the device where it lies.
    asked : ImageQuestions
        The questions, about images of the training split.
    n_steps, batch_size : int
        How many batches are drawn from them, and questions in each.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides which questions are in which batch.
    label : str
        See `fit`.

    Returns
    -------
    History

    Examples
    --------
    >>> from attnkit.tasks.digits import image_questions, load_digits
    >>> asked = image_questions(load_digits().train, 9)
    >>> len(train_digits(DigitReader(8), asked, n_steps=2).loss)
    2
    """
    *inputs, answer = placed(model, *question_tensors(asked))
    draw = draw_rows(inputs, answer, batch_size)
    return fit_on_draws(
        model, draw, n_steps=n_steps, learning_rate=learning_rate, seed=seed, label=label
    )
