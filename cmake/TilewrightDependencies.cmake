# Everything the project links or includes from outside, each as one target named tilewright_dep_*.
# Header-only parts are used header-only, so that a program that links libtilewright needs none of them.

find_package(Threads REQUIRED)
find_package(TBB REQUIRED CONFIG)

find_path(TILEWRIGHT_FMT_INCLUDE fmt/format.h REQUIRED)
find_path(TILEWRIGHT_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(TILEWRIGHT_JSON_INCLUDE nlohmann/json.hpp REQUIRED)

add_library(tilewright_dep_headers INTERFACE)
target_include_directories(tilewright_dep_headers SYSTEM INTERFACE
  ${TILEWRIGHT_FMT_INCLUDE} ${TILEWRIGHT_XXHASH_INCLUDE} ${TILEWRIGHT_JSON_INCLUDE})
target_compile_definitions(tilewright_dep_headers INTERFACE XXH_INLINE_ALL=)

# SLEEF serves vector math that is not hot. Absent is fine: the backend then calls the scalar forms.
find_library(TILEWRIGHT_SLEEF_LIBRARY sleef)
find_path(TILEWRIGHT_SLEEF_INCLUDE sleef.h)

# Static LLVM, its symbols hidden, since a host such as PyTorch brings an LLVM of its own.
set(TILEWRIGHT_HAS_LLVM OFF)
if(NOT TILEWRIGHT_WITH_LLVM STREQUAL "OFF")
  find_package(LLVM 19.1 CONFIG QUIET PATHS /usr/lib/llvm-19/lib/cmake/llvm)
  if(LLVM_FOUND)
    set(TILEWRIGHT_HAS_LLVM ON)
    add_library(tilewright_dep_llvm INTERFACE)
    target_include_directories(tilewright_dep_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
    separate_arguments(tilewright_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
    target_compile_definitions(tilewright_dep_llvm INTERFACE TILEWRIGHT_HAS_LLVM=1)
    target_compile_options(tilewright_dep_llvm INTERFACE ${tilewright_llvm_definitions})
    set(tilewright_llvm_components core support orcjit passes x86codegen x86asmparser x86desc x86info)
    llvm_map_components_to_libnames(tilewright_llvm_libraries ${tilewright_llvm_components})
    target_link_libraries(tilewright_dep_llvm INTERFACE ${tilewright_llvm_libraries})
  elseif(TILEWRIGHT_WITH_LLVM STREQUAL "ON")
    message(FATAL_ERROR "TILEWRIGHT_WITH_LLVM=ON, but LLVM 19 was not found. "
                        "Install llvm-19-dev, or set LLVM_DIR, or use TILEWRIGHT_WITH_LLVM=OFF.")
  endif()
endif()
message(STATUS "CPU JIT (LLVM 19): ${TILEWRIGHT_HAS_LLVM}")
