"""The engine that calls share, made when first needed and made anew in a forked child."""

from __future__ import annotations

import os
import threading
from typing import Any

from . import _core

_lock = threading.Lock()
_engines: dict[bool, _core.Engine] = {}
_options: dict[str, Any] = {}


def engine(require_fast: bool = False) -> _core.Engine:
    """The shared engine; a second one refuses what only a slower kernel serves."""
    found = _engines.get(require_fast)
    if found is not None:
        return found
    with _lock:
        if require_fast not in _engines:
            _engines[require_fast] = _core.Engine({**_options, "require_fast": require_fast})
        return _engines[require_fast]


def configure(**options: Any) -> None:
    """Sets options of the shared engine; those of EngineOptions in C++, by the same names.

    threads, backend ("reference", "cpu", "cuda"), cpu_isa, cache_dir ("none": memory only),
    compile_policy ("allow", "warn", "forbid"), record_dir, record_data; and for GPUs: fast_functions
    (tanh and sigmoid in their fast form, with a tolerance of its own), checked (bad subscripts and
    divisors are reported, see `check_device_errors`), deterministic (gradients in a fixed order),
    nvrtc, cuda_driver, kernel_dir.
    """
    known = [name for name in _core.engine_option_names() if name != "require_fast"]
    for name in options:
        if name not in known:
            raise TypeError(f"configure() has no option '{name}'; it has {', '.join(known)}")
    with _lock:
        _options.update(options)
        _engines.clear()


def stats() -> dict[str, Any]:
    """Counters of the shared engine: compiles, hits, calls, calls by kernel."""
    return engine().stats()


def check_device_errors() -> None:
    """Raises what kernels on GPUs have reported since the last call of this, in checked mode: a live
    subscript outside its tensor, or a live division by zero. Synchronise the device first to be sure
    that everything has arrived."""
    for made in list(_engines.values()):
        made.check_device_errors()


def _after_fork() -> None:
    # The child has none of the parent's threads; its engine starts its own.
    global _lock
    _lock = threading.Lock()
    _kept.extend(_engines.values())
    _engines.clear()


# Engines of the parent: their destructors would wait for threads that the child does not have.
_kept: list[_core.Engine] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
