import os
import subprocess
import sys
import threading
import time

import pytest
import torch

from gambol import parallel


@pytest.mark.parametrize(("count", "parts"), [(10, 3), (2, 5), (1, 1), (7, 7), (0, 2)])
def test_shares_cover_a_range_once(count, parts):
    cut = parallel.shares(count, parts)
    assert [i for part in cut for i in range(count)[part]] == list(range(count))
    assert len(cut) <= parts
    sizes = [part.stop - part.start for part in cut]
    assert max(sizes) - min(sizes) <= 1


def test_tasks_run_side_by_side():
    """Each waits for the other, so one thread alone would never end."""
    both = threading.Barrier(2, timeout=20)
    parallel.run([both.wait, both.wait])


def test_errors_of_any_thread_are_raised():
    def fail():
        raise ValueError("broken")

    for tasks in ([fail, int], [int, fail]):
        with pytest.raises(ValueError, match="broken"):
            parallel.run(tasks)


@pytest.mark.parametrize("way", ["run", "together"])
def test_an_error_waits_for_everybody(way):
    """Else threads would go on writing to memory that the caller has given up."""
    ended = threading.Event()

    def slow():
        time.sleep(0.2)
        ended.set()

    def fail():
        raise ValueError("broken")

    tasks = [lambda: time.sleep(0.05), fail, slow]
    with pytest.raises(ValueError, match="broken"):
        parallel.run(tasks) if way == "run" else parallel.run_workers(lambda worker: tasks[worker](), 3)
    assert ended.is_set()


def test_workers_that_have_not_begun_are_not_waited_for():
    """The pool's only thread is busy until the caller is through, so the caller does everything."""
    busy = threading.Event()
    parallel._pool(1).submit(busy.wait)
    done = []
    try:
        parallel.run_workers(done.append, 2)
    finally:
        busy.set()
    assert done == [0]


@pytest.mark.parametrize(("imports", "threads"), [("gambol, torch", 3), ("torch, gambol", 1)])
def test_threads_are_used_only_where_those_of_torch_do_not_spin(imports, threads):
    code = f"import {imports}; from gambol import parallel; torch.set_num_threads(3); print(parallel.workers())"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert int(said.stdout) == threads


def test_the_dial_is_torchs():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    assert parallel.workers() == 2
    torch.set_num_threads(before)
