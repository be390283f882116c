"""Arrays of any library as views of the engine, and results of the kind that came in."""

from __future__ import annotations

import sys
from typing import Any

from . import _core
from ._error import InvalidArgumentError, UnsupportedError

_TORCH_DTYPES = {
    "torch.float64": "f64",
    "torch.float32": "f32",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.int8": "i8",
    "torch.int16": "i16",
    "torch.int32": "i32",
    "torch.int64": "i64",
    "torch.uint8": "u8",
    "torch.bool": "bool",
}
_dtype_names: dict[Any, str] = {}


def is_torch(obj: Any) -> bool:
    """Whether this is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, getattr(torch, "Tensor", ()))


def is_numpy(obj: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.ndarray)


def torch_view(tensor: Any, name: str = "tensor") -> _core.View:
    """A torch tensor's memory; the view keeps the tensor."""
    dtype = _dtype_names.get(tensor.dtype)
    if dtype is None:
        dtype = _TORCH_DTYPES.get(str(tensor.dtype))
        if dtype is None:
            raise UnsupportedError(
                "this dtype is not served", name, ", ".join(_TORCH_DTYPES), str(tensor.dtype)
            )
        _dtype_names[tensor.dtype] = dtype
    device = tensor.device
    if tensor.is_sparse or tensor.is_quantized or (device.type not in ("cpu", "cuda")):
        raise UnsupportedError(
            "this tensor's memory cannot be read",
            name,
            "a dense tensor on a CPU or CUDA device",
            f"{tensor.layout} on {device}",
        )
    if tensor.is_neg() or tensor.is_conj():
        tensor = tensor.resolve_neg().resolve_conj()
    view = _core.view_at(tensor.data_ptr(), dtype, tensor.shape, tensor.stride(), tensor)
    return view if device.type == "cpu" else view.on_cuda(device.index or 0)


def _numpy_view(array: Any, name: str) -> _core.View:
    dtype = array.dtype
    if dtype.name == "bfloat16":
        return _numpy_memory(array, "bf16")
    if not dtype.isnative:
        raise UnsupportedError("the array has another byte order", name, "native", str(dtype))
    if not array.flags.writeable or any(s % array.itemsize for s in array.strides):
        names = {"f8": "f64", "f4": "f32", "f2": "f16", "b1": "bool", "u1": "u8"}
        short = names.get(dtype.str[1:], dtype.str[1:].replace("i8", "i64").replace("i4", "i32"))
        if any(s % array.itemsize for s in array.strides):
            array = array.copy()
        if dtype.kind in "iu" and short not in ("i64", "i32", "u8"):
            short = {"i1": "i8", "i2": "i16"}.get(dtype.str[1:], dtype.name)
        return _numpy_memory(array, short)
    return _core.view_of(array, name)


def _numpy_memory(array: Any, dtype: str) -> _core.View:
    address = array.__array_interface__["data"][0]
    strides = tuple(s // array.itemsize for s in array.strides)
    return _core.view_at(address, dtype, array.shape, strides, array)


def current_stream(obj: Any) -> int:
    """The stream that a CUDA operand's library works on now; 0, the default one, where none tells."""
    if is_torch(obj):
        return sys.modules["torch"].cuda.current_stream(obj.device).cuda_stream
    return 0


def stream_number(stream: Any) -> int | None:
    """A CUDA stream as a number: of torch, cupy, cuda.core (`__cuda_stream__`), or a number already."""
    if stream is None or isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return (protocol() if callable(protocol) else protocol)[1]
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise InvalidArgumentError(
        "this is not a CUDA stream", "stream", "a number, or a stream of torch, cupy or cuda.core",
        type(stream).__name__,
    )


def view_of(obj: Any, name: str = "tensor", stream: int | None = None) -> _core.View:
    """The view of a torch tensor, a numpy array, or anything with `__dlpack__`, whose library makes
    its memory ready for work on `stream`."""
    if isinstance(obj, _core.View):
        return obj
    if is_torch(obj):
        return torch_view(obj, name)
    if is_numpy(obj):
        return _numpy_view(obj, name)
    if stream is not None and hasattr(obj, "__dlpack_device__") and obj.__dlpack_device__()[0] == 2:
        # DLPack's name of the legacy default stream is 1.
        return _core.view_of(obj.__dlpack__(stream=stream or 1), name)
    if hasattr(obj, "__dlpack__") or hasattr(obj, "__array_interface__"):
        return _core.view_of(obj, name)
    raise InvalidArgumentError(
        "this is not a tensor",
        name,
        "a numpy array, a torch tensor, or an object with __dlpack__",
        type(obj).__name__,
    )


def _numpy_dtype(dtype: str) -> Any:
    import numpy

    if dtype != "bf16":
        return numpy.dtype(
            {"f64": "f8", "f32": "f4", "f16": "f2", "bool": "?", "u8": "u1"}.get(dtype)
            or {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}[dtype]
        )
    try:
        import ml_dtypes
    except ImportError as missing:
        raise UnsupportedError(
            "numpy has no bf16 of its own", "query", "the package ml_dtypes", "not installed",
            "pip install ml_dtypes, or pass torch tensors",
        ) from missing
    return numpy.dtype(ml_dtypes.bfloat16)


def _torch_empty(torch: Any, shape: tuple[int, ...], dtype: str, device: Any) -> Any:
    names = {name: full.removeprefix("torch.") for full, name in _TORCH_DTYPES.items()}
    return torch.empty(shape, dtype=getattr(torch, names[dtype]), device=device)


def empty_beside(model: Any, view: _core.View, shape: tuple[int, ...], dtype: str) -> Any:
    """A fresh array where `model`, seen through `view`, lies: of torch for torch's tensors; in host
    memory of numpy; on a GPU of the model's library where it has writable arrays, else of torch."""
    if is_torch(model):
        return _torch_empty(sys.modules["torch"], shape, dtype, model.device)
    if view.device == "cpu":
        return empty_numpy(shape, dtype)
    library = type(model).__module__.partition(".")[0]
    ordinal = int(view.device.rpartition(":")[2])
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(ordinal):
            return cupy.empty(shape, _numpy_dtype(dtype))
    torch = sys.modules.get("torch")
    if torch is None:
        raise UnsupportedError(
            "no library here makes arrays on this GPU", "query", "torch or cupy, imported", library
        )
    return _torch_empty(torch, shape, dtype, f"cuda:{ordinal}")


def empty_numpy(shape: tuple[int, ...], dtype: str) -> Any:
    import numpy

    return numpy.empty(shape, _numpy_dtype(dtype))


def like(result: Any, model: Any) -> Any:
    """A result as an array of the library that `model` comes from."""
    if type(result) is type(model) or is_numpy(model) or not hasattr(model, "__dlpack__"):
        return result
    if is_torch(result) and is_torch(model):
        return result
    if hasattr(model, "__array_namespace__"):
        return model.__array_namespace__().from_dlpack(result)
    library = sys.modules.get(type(model).__module__.partition(".")[0])
    convert = getattr(library, "from_dlpack", None)
    dlpack = getattr(library, "dlpack", None)
    convert = convert or getattr(dlpack, "from_dlpack", None)
    if convert is None:
        raise UnsupportedError(
            "the result cannot be turned into the kind of array that came in",
            "query",
            "a library with from_dlpack",
            type(model).__module__,
            "pass numpy arrays: numpy.from_dlpack(array)",
        )
    return convert(result)
