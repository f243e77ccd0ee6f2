"""The C library is told how many heaps to keep and when to give memory back; elsewhere nothing happens."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from theworld.native_memory import release_memory, share_heaps

CODE = """
import ctypes, sys, threading
from theworld.native_memory import release_memory, share_heaps

if len(sys.argv) > 1:
    share_heaps(int(sys.argv[1]))
begin, libc = threading.Barrier(12), ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def allocate():
    begin.wait()
    libc.free(libc.malloc(1000))
    begin.wait()

threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
"""


def heaps(*arguments: str) -> int:
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="heaps are counted with glibc's malloc_info")
def test_threads_share_as_many_heaps_as_they_may() -> None:
    assert heaps() > 2
    assert heaps("2") == 2


def test_nothing_is_done_where_there_is_no_such_library(monkeypatch: pytest.MonkeyPatch) -> None:
    release_memory()
    monkeypatch.setattr(sys, "platform", "win32")
    release_memory()
    share_heaps(2)
