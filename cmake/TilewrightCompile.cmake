# How every target of this project is compiled: one interface target, so that a consumer that pulls
# the project in through FetchContent keeps its own flags.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Paths relative to the tree, and no build folder in the key: another build folder (a static library, a
# consumer) or another clone finds the same entries.
if(TILEWRIGHT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TILEWRIGHT_CCACHE_PROGRAM ccache)
  if(TILEWRIGHT_CCACHE_PROGRAM)
    set(launcher "${CMAKE_COMMAND}" -E env CCACHE_NOHASHDIR=true
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${TILEWRIGHT_CCACHE_PROGRAM}")
    set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
endif()

# Line tables are what a backtrace needs; full debug info would double build time and disk.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")

add_library(tilewright_compile INTERFACE)
target_compile_features(tilewright_compile INTERFACE cxx_std_20)
# Contraction off: mask_mod is IEEE arithmetic and the same on every backend (semantics R3). The
# micro-kernels, where a fused multiply-add is the point, turn it on for themselves.
target_compile_options(tilewright_compile INTERFACE
  -Wall -Wextra -ffp-contract=off
  $<$<BOOL:${TILEWRIGHT_WERROR}>:-Werror>)
if(TILEWRIGHT_CHECKS)
  target_compile_definitions(tilewright_compile INTERFACE _GLIBCXX_ASSERTIONS)
endif()
# At -O2 a file takes twice as long under sanitizers as at -O1.
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tilewright_compile INTERFACE
    -fsanitize=${TILEWRIGHT_SANITIZE} -fno-omit-frame-pointer -O1)
  if(TILEWRIGHT_SANITIZE MATCHES "undefined")
    target_compile_options(tilewright_compile INTERFACE -fno-sanitize-recover=undefined)
  endif()
  target_link_options(tilewright_compile INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
endif()

# bfd needs many seconds to link static LLVM; lld about one.
find_program(TILEWRIGHT_LLD NAMES ld.lld-19 ld.lld)
if(TILEWRIGHT_LLD)
  get_filename_component(tilewright_lld_path "${TILEWRIGHT_LLD}" REALPATH)
  get_filename_component(tilewright_lld_dir "${tilewright_lld_path}" DIRECTORY)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ knows only -fuse-ld=lld and looks for `ld.lld` on PATH and in -B folders.
    target_link_options(tilewright_compile INTERFACE -fuse-ld=lld "-B${tilewright_lld_dir}")
  else()
    target_link_options(tilewright_compile INTERFACE "--ld-path=${TILEWRIGHT_LLD}")
  endif()
endif()

# Files of a room are compiled some at a time: most of a file's time is the headers that all include.
# So names in the anonymous namespaces of a room differ (clang-tidy still sees each file alone). Files
# with compile options of their own stay alone. To the compiler, a source inside another is a header,
# where a member of an anonymous type would be a mistake.
function(tilewright_compile_together target)
  if(TILEWRIGHT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Applies the flags above and what every target of the project shares.
function(tilewright_compile_as_ours target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tilewright_compile>)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_EXTENSIONS OFF CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
