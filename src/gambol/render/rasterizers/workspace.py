"""Memory that is used again. Fresh pages cost the SIMD rasteriser up to a third of its time."""

from collections import deque

import torch
from torch import Tensor

KEPT = 6
"""So many blocks wait to be used again: those that came back last."""
WASTE = 4
"""A block may be so many times larger than what is asked for."""

_free: deque[Tensor] = deque(maxlen=KEPT)


class Workspace:
    """Bytes of any content, borrowed as long as this object lives."""

    def __init__(self, size: int) -> None:
        self._block = _borrow(size)
        self.address = self._block.data_ptr()

    def __del__(self) -> None:
        if hasattr(self, "_block"):
            _free.append(self._block)


def _borrow(size: int) -> Tensor:
    """Only single steps of the queue, which are atomic: no lock that a destructor could meet."""
    for _ in range(KEPT):
        try:
            block = _free.popleft()
        except IndexError:
            break
        if size <= block.numel() <= WASTE * size:
            return block
        _free.append(block)
    return torch.empty(size, dtype=torch.uint8)
