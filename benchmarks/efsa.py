"""How long EFSA takes over 20 notes of 12 entities each, by the documented call.

python benchmarks/efsa.py
"""

from __future__ import annotations

import time
from statistics import median

from theworld import efsa_answer

NOTES = [
    {
        "entities": [f"Entity {(note * 7 + place * 3) % 60}" for place in range(12)],
        "final_score": 1 - note / 40,
        "hop_no": 1 + note % 3,
        "doc_id": f"document {note % 12}",
        "paragraph_idxs": [note],
        "content": f"Entity {note} is told of together with Entity {note + 1}. " * 12,
    }
    for note in range(20)
]


def main() -> None:
    """Print median and worst milliseconds of CPU of 200 calls."""
    times = []
    for _ in range(200):
        began = time.process_time()
        efsa_answer(NOTES, "Who works with Entity 1?", "Entity 1", ["Entity 1", "Entity 2"])
        times.append((time.process_time() - began) * 1000)
    print(f"EFSA over {len(NOTES)} notes: median {median(times):.2f} ms, worst {max(times):.2f} ms of CPU")


if __name__ == "__main__":
    main()
