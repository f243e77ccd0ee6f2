"""What the process that others are forked from imports: the program, without any model or thread."""

import numpy
import onnxruntime
import tantivy

import theworld.cli.app
import theworld.cli.documents
import theworld.cli.ingesting
import theworld.graph
import theworld.ingestion
import theworld.stores.knowledge_store

__all__ = ["numpy", "onnxruntime", "tantivy", "theworld"]
