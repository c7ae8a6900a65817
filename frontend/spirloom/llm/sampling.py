"""How a model chooses tokens: what its states say of it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spirloom.runtime.errors import InvalidArgument

_MOST_FLOAT = float(np.finfo(np.float32).max)
_MOST_INT = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, slots=True)
class Sampling:
    """With `temperature` 0 the token of the greatest score; else one at random, by the softmax of
    scores over the temperature, among the `top_k` best (0: all) and, of those, the fewest whose
    probabilities reach `top_p`. The same `seed` chooses the same; None another each time.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Raises InvalidArgument."""
        if not 0 <= self.temperature <= _MOST_FLOAT:
            raise InvalidArgument(f"temperature ({self.temperature}) must be 0 or more.")
        if not 0 <= self.top_k <= _MOST_INT:
            raise InvalidArgument(f"top_k ({self.top_k}) must be 0, for all tokens, or more.")
        if not 0 < self.top_p <= 1:
            raise InvalidArgument(f"top_p ({self.top_p}) must be above 0 and at most 1.")
        if self.seed is not None and not 0 <= self.seed <= _MOST_INT:
            raise InvalidArgument(f"seed ({self.seed}) must be between 0 and {_MOST_INT}.")

    def states(self) -> dict[str, npt.NDArray[np.float32] | npt.NDArray[np.int32]]:
        """The model's states that say so, by name: [1] each."""
        seed = secrets.randbelow(_MOST_INT) if self.seed is None else self.seed
        return {
            "temperature": np.array([self.temperature], np.float32),
            "top_k": np.array([self.top_k], np.int32),
            "top_p": np.array([self.top_p], np.float32),
            "seed": np.array([seed], np.int32),
        }
