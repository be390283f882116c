#pragma once

#include <exception>
#include <new>
#include <string>

#include "tilewright/c.h"
#include "tilewright/error.h"

namespace tilewright::c_abi {

/// Keeps a failed call's message for tw_last_error() of this thread.
tw_status remember(tw_status status, const char* message) noexcept;

/// Runs `body` and turns whatever it throws into a status: nothing passes through a C frame.
template <class Body>
tw_status guard(Body&& body) noexcept {
  try {
    body();
    return TW_OK;
  } catch (const Error& error) {
    return remember(static_cast<tw_status>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return remember(TW_IO, "out of memory");
  } catch (const std::exception& error) {
    return remember(TW_INTERNAL, error.what());
  } catch (...) {
    return remember(TW_INTERNAL, "an exception of an unknown type");
  }
}

/// Throws Error{kInvalidArgument} where `pointer` is null.
template <class T>
T& required(T* pointer, const char* argument) {
  if (pointer != nullptr) return *pointer;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::string(argument) + " is NULL",
               .where = argument,
               .expected = {},
               .got = {},
               .hint = {}});
}

/// Copies `text` with its NUL if `capacity` bytes hold it, and says how many it takes.
void copy_text(const std::string& text, char* target, size_t capacity, size_t* needed);

}  // namespace tilewright::c_abi
