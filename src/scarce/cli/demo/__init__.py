"""`scarce demo`: the verb and its stories; the installed verb runs them, so they live here."""

from scarce.cli.demo.command import demo

__all__ = ["demo"]
