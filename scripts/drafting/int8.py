"""A draft network's matrices in 8-bit integers, to measure how often its drafts are still right, and how much sooner it
has them (Dovetail, appendix C.2).
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from models.speculative.network import Floats

_HIGHEST = 127


class Int8Matrix:
    """A matrix (outputs, inputs) in 8-bit integers, with a scale for each row. The values that it multiplies are
    rounded in the same way, and torch computes the product in integers.
    """

    __array_ufunc__ = None  # so that an array on the left of `@` leaves the product to this class

    def __init__(self, weights: npt.NDArray[Any]) -> None:
        self._rows, self._scales = _rounded(torch.from_numpy(weights.astype(np.float32)))

    @property
    def T(self) -> Self:
        """The matrix itself, which is always multiplied transposed."""
        return self

    def __rmatmul__(self, values: Floats) -> Floats:
        rows, scales = _rounded(torch.from_numpy(values))
        # Private, but torch's only product of 8-bit integers that is not deprecated; the version of torch is fixed.
        product: Floats = (torch._int_mm(rows, self._rows.T) * scales * self._scales.T).numpy()
        return product


def _rounded(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scales = (rows.abs().amax(1, keepdim=True) / _HIGHEST).clamp_min(torch.finfo(torch.float32).tiny)
    return (rows / scales).round().to(torch.int8), scales
