#include "bindings.h"
#include "tilewright/target.h"

/// The compiled half of the package `tilewright`; the Python half gives it its public face.
NB_MODULE(_core, module) {
  using namespace tilewright;
  // Handles and programs may outlive the interpreter's own teardown order in user globals.
  nb::set_leak_warnings(false);
  module.attr("__version__") = version();
  python::bind_errors(module);
  python::bind_tensors(module);
  python::bind_symbols(module);
  python::bind_programs(module);
  python::bind_tracing(module);
  python::bind_torch_function(module);
  python::bind_inline(module);
  python::bind_masks(module);
  python::bind_engine(module);
  python::bind_mask_catalogue(module);
  python::bind_score_catalogue(module);
}
