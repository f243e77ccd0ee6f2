"""The ledger: the only truth, relational, from which every projection can be rebuilt."""

from theworld.stores.ledger.ledger import Ledger
from theworld.stores.ledger.reading import NoteParts

__all__ = ["Ledger", "NoteParts"]
