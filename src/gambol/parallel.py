"""Threads on all cores. Threads suffice, because Warp and torch release Python's global lock while they compute."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import torch


def workers() -> int:
    """Return the number of threads to use: torch's, so that `torch.set_num_threads` sets both.

    It is 1 if torch was imported before gambol: then torch's own threads spin after each of its operations, and a
    thread of ours that shares a core with one of them delays all others.
    """
    passive = os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"
    return torch.get_num_threads() if passive else 1


def run(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks, each on a thread of its own, the first on the calling one; errors are raised here.

    Kernels must be loaded before (launch them once, or call `wp.load_module`): compiling in two threads is not safe. A
    task must not call `run` itself: it would wait for the thread it is on.
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


def run_workers(work: Callable[[int], None], count: int) -> None:
    """Call `work` with 0 on this thread and with 1 to count - 1 on others; each call takes tasks from a shared list
    until none is left.

    Workers that have not started when the calling thread is done are cancelled: on busy cores, waiting for a thread to
    start can take longer than the work. The rules of `run` hold.
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
    """Return slices that cut a range into at most `parts` nearly equal, non-empty parts."""
    parts = max(1, min(parts, count))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="gambol")


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed; a second Ctrl-C interrupts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    usual = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    asked: list[int] = []

    def note(number: int, frame: Any) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, usual)
