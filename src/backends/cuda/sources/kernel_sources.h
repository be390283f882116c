#pragma once

#include <string>
#include <string_view>

namespace tilewright::cuda {

/// The kernel files that emitted text includes: those inside the library, or a folder's, read anew
/// at each use so that an edit is seen at once.
class KernelSources {
 public:
  /// Empty: the library's own. Throws Error{kIo} for a folder that does not exist.
  explicit KernelSources(std::string folder);

  /// `text` with every `#include "path"` replaced by that file, each file once, with #line marks so
  /// that diagnostics name file and line. Throws Error{kIo} for a file that is not there.
  std::string inlined(std::string_view text) const;

  /// "inside the library", or the folder.
  std::string origin() const;

 private:
  std::string folder_;
};

}  // namespace tilewright::cuda
