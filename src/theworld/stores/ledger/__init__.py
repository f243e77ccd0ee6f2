"""The ledger: the only truth, relational, from which every projection can be rebuilt."""

from theworld.stores.ledger.ledger import Ledger, NoteParts

__all__ = ["Ledger", "NoteParts"]
