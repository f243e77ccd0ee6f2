from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from theworld.errors import ModelError
from theworld.packages import weights_id
from theworld.single_flight import Lazy


def test_a_value_is_made_once_however_many_threads_ask() -> None:
    made: list[int] = []
    gate = threading.Event()

    def make() -> int:
        gate.wait(5)
        made.append(1)
        return len(made)

    lazy = Lazy(make)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(lazy.get) for _ in range(8)]
        gate.set()
        assert [future.result() for future in waiting] == [1] * 8


def test_none_is_a_value_and_a_failure_is_not() -> None:
    outcomes: list[object] = [ModelError("not yet"), None]
    calls: list[int] = []

    def make() -> object:
        calls.append(1)
        outcome = outcomes[len(calls) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    lazy = Lazy(make)
    with pytest.raises(ModelError, match="not yet"):
        lazy.get()
    assert (lazy.get(), lazy.get(), len(calls)) == (None, None, 2)


def test_weights_id_samples_all_over_the_file_and_sees_its_length(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    content = bytearray(5_000_000)
    path.write_bytes(content)
    ids = [weights_id(path), weights_id(path)]
    for position in (0, 5_000_000 // 64 * 31):
        changed = bytearray(content)
        changed[position] = 1
        path.write_bytes(changed)
        ids.append(weights_id(path))
    path.write_bytes(content + b"\0")
    ids.append(weights_id(path))
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4
    assert all(len(name) == 8 for name in ids)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_all_models_together_stay_under_500_mb() -> None:
    code = """
from theworld.models.registry import load_models
from theworld.settings import Settings
models = load_models(Settings())
models.warm()
models.embedders["en"].embed_passages(["some words about a mountain " * 30] * 32)
models.embedders["zh"].embed_passages(["關於一座山的一些話，" * 10] * 4)
models.taggers["en"].tag(["Barack Obama was born in Hawaii. " * 20] * 50)
models.taggers["zh"].tag(["李白在北京。" * 20] * 50)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500
