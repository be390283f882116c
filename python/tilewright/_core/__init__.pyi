from typing import Any
from collections.abc import Mapping, Sequence

from tilewright._core import masks as masks, scores as scores


__version__: str


class View:
    @property
    def shape(self) -> tuple: ...

    @property
    def strides(self) -> tuple: ...

    @property
    def dtype(self) -> str: ...

    @property
    def device(self) -> str: ...

    @property
    def owner(self) -> object: ...

    def on_cuda(self, arg: int, /) -> View: ...

def are_plain_tensors(objects: tuple) -> bool: ...

def operands_fit(query: object, key: object, value: object, grouped: bool) -> bool: ...

def view_of(object: object, name: str = 'tensor') -> View: ...

def view_at(address: int, dtype: str, shape: object, strides: object, owner: object | None) -> View: ...

class Number:
    def __init__(self, arg0: str, arg1: object, /) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> object: ...

class Value:
    __torch_function__: Any

    def __getattr__(self, name: str) -> Any: ...

    def __hash__(self, /):
        """Return hash(self)."""

    def __lt__(self, value, /):
        """Return self<value."""

    def __le__(self, value, /):
        """Return self<=value."""

    def __eq__(self, value, /):
        """Return self==value."""

    def __ne__(self, value, /):
        """Return self!=value."""

    def __gt__(self, value, /):
        """Return self>value."""

    def __ge__(self, value, /):
        """Return self>=value."""

    def __add__(self, value, /):
        """Return self+value."""

    def __radd__(self, value, /):
        """Return value+self."""

    def __sub__(self, value, /):
        """Return self-value."""

    def __rsub__(self, value, /):
        """Return value-self."""

    def __mul__(self, value, /):
        """Return self*value."""

    def __rmul__(self, value, /):
        """Return value*self."""

    def __mod__(self, value, /):
        """Return self%value."""

    def __rmod__(self, value, /):
        """Return value%self."""

    def __pow__(self, value, mod=None, /):
        """Return pow(self, value, mod)."""

    def __rpow__(self, value, mod=None, /):
        """Return pow(value, self, mod)."""

    def __neg__(self, /):
        """-self"""

    def __pos__(self, /):
        """+self"""

    def __abs__(self, /):
        """abs(self)"""

    def __bool__(self, /):
        """True if self else False"""

    def __invert__(self, /):
        """~self"""

    def __lshift__(self, value, /):
        """Return self<<value."""

    def __rlshift__(self, value, /):
        """Return value<<self."""

    def __rshift__(self, value, /):
        """Return self>>value."""

    def __rrshift__(self, value, /):
        """Return value>>self."""

    def __and__(self, value, /):
        """Return self&value."""

    def __rand__(self, value, /):
        """Return value&self."""

    def __xor__(self, value, /):
        """Return self^value."""

    def __rxor__(self, value, /):
        """Return value^self."""

    def __or__(self, value, /):
        """Return self|value."""

    def __ror__(self, value, /):
        """Return value|self."""

    def __floordiv__(self, value, /):
        """Return self//value."""

    def __rfloordiv__(self, value, /):
        """Return value//self."""

    def __truediv__(self, value, /):
        """Return self/value."""

    def __rtruediv__(self, value, /):
        """Return value/self."""

class Score(Value):
    pass

class Index(Value):
    pass

class Bool(Value):
    pass

def apply(fn: str, *args) -> object: ...

def symbol(arg: object, /) -> object: ...

def position(arg: int, /) -> object: ...

class Program:
    def __init__(self) -> None: ...

    @staticmethod
    def parse(text: str, captures: Mapping[str, object] = {}, numbers: Mapping[str, object] = {}) -> Program: ...

    def text(self) -> str: ...

    def template_text(self) -> str: ...

    def bind(self, capture: str, view: object) -> None: ...

    def set(self, number: str, value: object) -> None: ...

    def rebound(self, tensors: Sequence[object], numbers: object) -> Program: ...

    def values_at(self, score: float, at: tuple) -> str: ...

    def score_at(self, score: float, at: tuple) -> tuple[float, bool]: ...

    @property
    def has_score_mod(self) -> bool: ...

    @property
    def has_mask_mod(self) -> bool: ...

    @property
    def capture_slots(self) -> list[str]: ...

    @property
    def number_names(self) -> list[str]: ...

    @property
    def number_slots(self) -> list[str]: ...

    @property
    def number_values(self) -> list: ...

    @property
    def structure_digest(self) -> str: ...

    @property
    def content_digest(self) -> str: ...

    @property
    def owners(self) -> list[object]: ...

    @owners.setter
    def owners(self, arg: Sequence[object], /) -> None: ...

def score_between(query: View, key: View, at: tuple) -> float: ...

def trace(score_mod: object | None, mask_mod: object | None, device: object | None = None, dtype: object | None = None, named: object = ()) -> Program: ...

def subscript(tensor: object, index: object) -> object: ...

def load(tensor: object, picks: object) -> object: ...

def note_capture(name: str, tensor: object) -> None: ...

def name_for(name: str, tensor: object) -> str: ...

def name_of_capture(tensor: object) -> str: ...

def trace_device() -> object: ...

def trace_dtype() -> object: ...

def tracing() -> bool: ...

def torch_function(cls: object, func: object, types: object, args: object = (), kwargs: object | None = None) -> object: ...

def forget_meanings() -> None: ...

def inline_mask(program: Program, views: Mapping[str, object], symbols: tuple) -> object: ...

class BlockLists:
    kept: Any

    def __init__(self, arg0: tuple, arg1: tuple, arg2: tuple, /) -> None: ...

    @property
    def shape(self) -> tuple: ...

class MaskMap:
    @staticmethod
    def build(program: Program, options: dict) -> MaskMap: ...

    @staticmethod
    def from_block_lists(lists: BlockLists) -> MaskMap: ...

    def block_lists(self, q_block: int = 128, kv_block: int = 128) -> tuple: ...

    def tile_grid(self, place: tuple, grid: tuple) -> bytes: ...

    def write_dense(self, program: Program, into: View) -> None: ...

    @property
    def live_pairs(self) -> int: ...

    @property
    def covered_pairs(self) -> int: ...

    @property
    def sparsity(self) -> float: ...

    @property
    def spans(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

class Attention:
    def forward(self, inputs: tuple, outputs: tuple, stream: object | None = None) -> tuple: ...

    def bind(self, capture: str, view: object) -> None: ...

    def set(self, number: str, value: object) -> None: ...

    def ready(self) -> bool: ...

    def wait(self) -> None: ...

    def explain(self, stage: str = 'all') -> str: ...

class Engine:
    def __init__(self, arg: dict, /) -> None: ...

    def attention(self, program: Program, inputs: tuple, outputs: tuple, options: tuple) -> tuple: ...

    def prepare(self, program: Program, inputs: tuple, outputs: tuple, options: tuple) -> Attention: ...

    def stats(self) -> dict: ...

    def check_device_errors(self) -> None: ...

    @property
    def cache_dir(self) -> str: ...

    @property
    def require_fast(self) -> bool: ...

    def attention_backward(self, program: Program, inputs: tuple, outputs: tuple, options: tuple) -> tuple: ...

def engine_option_names() -> list: ...

def targets() -> list: ...

def merge_partials(a: tuple, b: tuple, into: tuple) -> None: ...
