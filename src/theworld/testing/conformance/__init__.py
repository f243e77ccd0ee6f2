"""What every twin of a projection must do: subclass these in your tests and give the fixture `make`.

    class TestMySparse(SparseConformance):
        @pytest.fixture
        def make(self, tmp_path):
            return lambda: MySparse(tmp_path)

`make` opens the projection; called again, after `close`, it opens the same one again. Needs pytest.

`twins` compares two engines on the same random changes and queries; `leaks` looks for what a tenant is shown of
another's.
"""

import pytest

_SUITES = "documents sparse dense graph twins".split()
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))

from theworld.testing.conformance.dense import DenseConformance  # noqa: E402
from theworld.testing.conformance.graph import GraphConformance  # noqa: E402
from theworld.testing.conformance.sparse import SparseConformance  # noqa: E402

__all__ = ["DenseConformance", "GraphConformance", "SparseConformance"]
