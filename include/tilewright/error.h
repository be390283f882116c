#pragma once

#include <exception>
#include <string>

#pragma GCC visibility push(default)

namespace tilewright {

/// What kind of mistake an Error reports. The C ABI returns these values, so they never change
/// meaning.
enum class ErrorCode {
  kInvalidArgument = 1,   ///< a shape, dtype, stride, name or value that the call cannot mean
  kUnsupported = 2,       ///< meaningful, but no kernel here serves it (semantics R12)
  kIndexOutOfRange = 3,   ///< a live subscript outside its captured tensor (R8)
  kDivisionByZero = 4,    ///< a live integer division by zero (R9)
  kParse = 5,             ///< a text program or a file that cannot be read
  kTrace = 6,             ///< a construct that a mod may not contain
  kCompileForbidden = 7,  ///< the compile policy forbids what the call would need
  kIo = 8,                ///< the operating system refused a file or a library
  kInternal = 9,          ///< a broken invariant of Tilewright itself
  kDevice = 10,           ///< the GPU's driver refused, or code on the GPU failed
};

/// The parts of an error message, in the order in which what() prints them. Empty parts are left
/// out.
struct ErrorParts {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string what;   ///< what is wrong, one sentence
  std::string where;  ///< the argument, capture, node, file or line
  std::string expected;
  std::string got;
  std::string hint;  ///< what to do about it
};

/// Thrown for every user mistake, before anything is launched (run-time index errors excepted).
class Error : public std::exception {
 public:
  explicit Error(ErrorParts parts);

  const char* what() const noexcept override { return message_.c_str(); }
  ErrorCode code() const noexcept { return parts_.code; }
  const ErrorParts& parts() const noexcept { return parts_; }

 private:
  ErrorParts parts_;
  std::string message_;
};

/// The stable lower-case name of a code, as the command line and the C ABI print it.
const char* name(ErrorCode code) noexcept;

}  // namespace tilewright

#pragma GCC visibility pop
