"""The sides that are compared: one module per package."""

from benchmarks.adapters.side import Side, adapters, sides_of

__all__ = ["Side", "adapters", "sides_of"]
