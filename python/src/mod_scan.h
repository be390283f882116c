#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace tilewright::python {

class TraceSession;

/// Looks through a plain function's closure and globals, nested functions too, before it is traced:
/// tells the session what tensors are called. Returns whether something there cannot take symbolic
/// subscripts itself (a numpy array), so that the function has to be rewritten around it.
bool scan_mod(nb::handle mod, TraceSession& session);

/// Positional parameters without a default of a plain function; -1 for everything else and for
/// functions with *args.
int plain_arity(nb::handle mod);

}  // namespace tilewright::python
