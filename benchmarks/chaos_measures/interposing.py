"""The environment of a process whose flushes are slow, or whose clock jumps: Linux with a C compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def interposed(work: Path, *, flush_ms: int = 0, jump_s: int = 0) -> dict[str, str]:
    """Return the environment; ends the program where there is no compiler."""
    library = work / "interposed.so"
    if not library.exists():
        compiler = shutil.which("cc")
        if compiler is None or sys.platform != "linux":
            raise SystemExit("slow disks and clock jumps need Linux and a C compiler (cc)")
        source = Path(__file__).with_name("interposed.c")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return os.environ | {
        "LD_PRELOAD": str(library), "CHAOS_FLUSH_MS": str(flush_ms), "CHAOS_JUMP_S": str(jump_s)
    }  # fmt: skip
