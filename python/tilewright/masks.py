"""Ready mask mods by name, each a callable like a Python mask mod; docs/catalogue.md says where
they come from. Tables are arrays of any library."""

from __future__ import annotations

from ._catalogue import builders

_builders = builders("masks")
globals().update(_builders)

__all__ = sorted(_builders)  # noqa: PLE0605
