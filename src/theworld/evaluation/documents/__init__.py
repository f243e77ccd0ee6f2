"""How well questions over a folder of documents are answered: asked through the graph, measured, compared."""
