"""scarce: honest probabilities, performance figures and decisions when labels are scarce.

The public names stand in `__init__.pyi`, each once; see `lazy`.
"""

from scarce.lazy import public_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = public_names(__name__, __file__)
