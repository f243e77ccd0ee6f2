"""Questions about rows: mapping, understanding, building, guard and engines. Knows nothing of the graph of nodes."""
