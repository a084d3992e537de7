"""Work on all cores: threads are enough, because Warp and torch let go of Python's lock while they count."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise

import torch


def workers() -> int:
    """How many threads to use: torch's number, so that one dial (`torch.set_num_threads`) sets both.

    One if torch was imported before gambol: then its own threads spin after each of its operations, and a thread of
    ours that has to share a core with them makes everybody wait.
    """
    passive = os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"
    return torch.get_num_threads() if passive else 1


def run(tasks: Sequence[Callable[[], None]]) -> None:
    """Do all tasks, each on a thread of its own, the first one on the caller's; errors are raised here.

    Kernels must be loaded before (launch them once, or `wp.load_module`): compiling in two threads is not safe.
    A task must not call `run` itself: it would wait for the thread it is on.
    """
    if len(tasks) == 1:
        return tasks[0]()
    waiting = [_pool(len(tasks) - 1).submit(task) for task in tasks[1:]]
    try:
        tasks[0]()
    finally:  # nobody may still write to memory that the caller gives up
        wait(waiting)
    for future in waiting:
        future.result()


def together(work: Callable[[int], None], count: int) -> None:
    """Calls `work` with 0 (here) to count - 1 (on other threads), each of which takes tasks from one list until none is
    left. Who has not begun by the time the caller is through is told to stay away: with busy cores, waiting for a
    thread to wake can take longer than the work. The rules of `run` hold.
    """
    waiting = [_pool(count - 1).submit(work, worker) for worker in range(1, count)]
    try:
        work(0)
    finally:
        begun = [future for future in waiting if not future.cancel()]
        wait(begun)
    for future in begun:
        future.result()


def shares(count: int, parts: int) -> list[slice]:
    """A range cut into at most so many nearly equal, non-empty parts."""
    parts = max(1, min(parts, count))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="gambol")
