"""libtilewright through its C interface, for benchmarks that time it beside a peer in one process."""

import ctypes as c

DTYPES = {"float64": 0, "float32": 1, "float16": 2, "bfloat16": 3, "int32": 6}


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("dtype", c.c_int),
        ("rank", c.c_int32),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("device", c.c_int),
        ("device_ordinal", c.c_int32),
    ]


class Inputs(c.Structure):
    _fields_ = [("query", Tensor), ("key", Tensor), ("value", Tensor)]


class Outputs(c.Structure):
    _fields_ = [("out", Tensor), ("lse", c.POINTER(Tensor)), ("max_scores", c.POINTER(Tensor))]


class BackwardInputs(c.Structure):
    _fields_ = [("struct_bytes", c.c_size_t)]
    _fields_ += [(name, Tensor) for name in ("query", "key", "value", "out", "lse", "d_out")]
    _fields_ += [("d_lse", c.POINTER(Tensor))]


class BackwardOutputs(c.Structure):
    _fields_ = [("struct_bytes", c.c_size_t)]
    _fields_ += [(name, c.POINTER(Tensor)) for name in ("d_query", "d_key", "d_value")]
    _fields_ += [("captures", c.c_void_p), ("capture_count", c.c_size_t)]


class CaptureGradient(c.Structure):
    _fields_ = [("capture", c.c_char_p), ("gradient", Tensor)]


class CallOptions(c.Structure):
    _fields_ = [("struct_bytes", c.c_size_t), ("scale", c.POINTER(c.c_double)), ("stream", c.c_void_p), ("deterministic", c.c_int32)]


class EngineOptions(c.Structure):
    """tw_engine_options; what is not named here stays 0."""

    _fields_ = [("struct_bytes", c.c_size_t), ("compile_policy", c.c_int), ("threads", c.c_int32), ("require_fast", c.c_int32)]
    _fields_ += [(name, c.c_char_p) for name in ("backend", "cpu_isa", "cache_dir", "record_dir")]
    _fields_ += [(name, c.c_void_p) for name in ("user", "log", "allocate", "deallocate", "parallel_for")]
    _fields_ += [(name, c.c_void_p) for name in ("allocate_device", "deallocate_device")]
    _fields_ += [("checked", c.c_int32)]
    _fields_ += [(name, c.c_char_p) for name in ("nvrtc", "cuda_driver", "kernel_dir")]
    _fields_ += [("deterministic", c.c_int32), ("fast_functions", c.c_int32)]


def tensor(array):
    """A descriptor of a torch tensor; the tensor must outlive it."""
    rank = array.dim()
    extents = (c.c_int64 * rank)(*array.shape)
    strides = (c.c_int64 * rank)(*array.stride())
    name = str(array.dtype).removeprefix("torch.")
    ordinal = array.get_device()
    return Tensor(array.data_ptr(), DTYPES[name], rank, extents, strides, int(ordinal >= 0), max(ordinal, 0))


class Engine:
    """One engine; forward() runs a text program on torch tensors."""

    def __init__(self, library_path, **options):
        self.library = c.CDLL(library_path)
        self.library.tw_last_error.restype = c.c_char_p
        self.engine = c.c_void_p()
        given = EngineOptions(struct_bytes=c.sizeof(EngineOptions), **options)
        self.check(self.library.tw_engine_create(c.byref(given), c.byref(self.engine)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.tw_last_error().decode())

    def program(self, text, **captures):
        """Parses `text` and binds torch tensors to its captures by name."""
        program = c.c_void_p()
        encoded = text.encode()
        self.check(self.library.tw_program_parse(encoded, c.c_size_t(len(encoded)), c.byref(program)))
        for name, array in captures.items():
            view = tensor(array)
            self.check(self.library.tw_program_bind(program, name.encode(), c.byref(view)))
        return program

    def forward(self, program, query, key, value, out, lse=None):
        inputs = Inputs(tensor(query), tensor(key), tensor(value))
        outputs = Outputs(tensor(out), c.pointer(tensor(lse)) if lse is not None else None, None)
        self.check(self.library.tw_forward(self.engine, program, c.byref(inputs), c.byref(outputs), None))

    def backward(self, program, query, key, value, out, lse, d_out, d_query, d_key, d_value):
        inputs = BackwardInputs(c.sizeof(BackwardInputs), *map(tensor, (query, key, value, out, lse, d_out)), None)
        gradients = [c.pointer(tensor(gradient)) for gradient in (d_query, d_key, d_value)]
        outputs = BackwardOutputs(c.sizeof(BackwardOutputs), *gradients, None, 0)
        self.check(self.library.tw_backward(self.engine, program, c.byref(inputs), c.byref(outputs), None))
