# Generates a C++ source that holds text files of the tree, so that the library carries them.
#
#   tilewright_embed_files(<out> ROOT <folder> PATTERNS <glob>... HEADER <include> FUNCTION <name>)
#
# FUNCTION is declared in HEADER as `std::span<const EmbeddedFile> f()` beside struct EmbeddedFile.
# <out> receives the generated file, or nothing where no file matches.
set(TILEWRIGHT_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_files_now.cmake")

function(tilewright_embed_files out)
  cmake_parse_arguments(arg "" "ROOT;HEADER;FUNCTION" "PATTERNS" ${ARGN})
  list(TRANSFORM arg_PATTERNS PREPEND "${arg_ROOT}/" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  if(NOT files)
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  list(SORT files)
  list(JOIN files "\n" file_lines)
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cpp")
  set(list_file "${CMAKE_CURRENT_BINARY_DIR}/embedded_files.txt")
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${file_lines}")
  add_custom_command(OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${arg_ROOT}" "-DLIST=${list_file}" "-DHEADER=${arg_HEADER}"
            "-DFUNCTION=${arg_FUNCTION}" "-DOUTPUT=${generated}" -P "${TILEWRIGHT_EMBED_SCRIPT}"
    DEPENDS ${files} "${list_file}" "${TILEWRIGHT_EMBED_SCRIPT}"
    COMMENT "Embedding ${arg_ROOT}" VERBATIM)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()
