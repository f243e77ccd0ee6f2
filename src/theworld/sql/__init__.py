"""Questions about rows: mapping, understanding, building, guard and engines. Knows nothing of the graph of nodes.

Needs the extra `sql`; ModelError with the command that installs it where it is missing.
"""

from theworld.packages import import_package

import_package("sqlglot", extra="sql")
