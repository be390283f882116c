"""Programmable attention: write what happens to one score, run it fused. See docs/python.md."""

from . import masks, scores
from ._attention import Prepared, Result, attention, explain, prepare
from ._core import BlockLists, Bool, Engine, Index, Number, Program, Score, Value, targets
from ._core import __version__ as __version__
from ._engine import check_device_errors, configure, engine, stats
from ._error import (
    CompileForbiddenError,
    DivisionByZeroError,
    Error,
    FileError,
    IndexOutOfRangeError,
    InternalError,
    InvalidArgumentError,
    ParseError,
    TraceError,
    UnsupportedError,
)
from ._merging import merge_partials
from ._operands import Capture, capture
from ._parse import parse
from ._pictures import Mask, mask, score_map
from ._symbols import register_op
from ._trace import FrozenMod, freeze
from ._where import where

__all__ = [
    "BlockLists",
    "Bool",
    "Capture",
    "CompileForbiddenError",
    "DivisionByZeroError",
    "Engine",
    "Error",
    "FileError",
    "FrozenMod",
    "Index",
    "IndexOutOfRangeError",
    "InternalError",
    "InvalidArgumentError",
    "Mask",
    "Number",
    "ParseError",
    "Prepared",
    "Program",
    "Result",
    "Score",
    "TraceError",
    "UnsupportedError",
    "Value",
    "attention",
    "capture",
    "check_device_errors",
    "configure",
    "engine",
    "explain",
    "freeze",
    "mask",
    "masks",
    "merge_partials",
    "parse",
    "prepare",
    "register_op",
    "score_map",
    "scores",
    "stats",
    "targets",
    "where",
]
