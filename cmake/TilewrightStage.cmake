# A stage is a room of src/: one static library from every .cpp in the calling folder and below,
# which may link earlier stages only. A room without sources is an interface target, so that the
# chain stays whole.
#
#   tilewright_stage(<name> [FLAT] [DEPENDS <stage>...] [EXCEPT <folder>...] [SOURCES <file>...])
#
# FLAT takes no subfolders; EXCEPT leaves some out; SOURCES adds generated files. The caller finds
# PUBLIC or INTERFACE, whichever suits the target, in tilewright_stage_scope.
define_property(GLOBAL PROPERTY TILEWRIGHT_STAGES BRIEF_DOCS "Stages that have sources, in order")

function(tilewright_stage name)
  cmake_parse_arguments(arg "FLAT" "" "DEPENDS;EXCEPT;SOURCES" ${ARGN})
  set(target tilewright_${name})
  if(arg_FLAT)
    file(GLOB sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.cpp")
  else()
    file(GLOB_RECURSE sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.cpp")
  endif()
  foreach(folder IN LISTS arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  list(APPEND sources ${arg_SOURCES})
  list(TRANSFORM arg_DEPENDS PREPEND tilewright_)

  if(sources)
    add_library(${target} STATIC ${sources})
    tilewright_compile_as_ours(${target})
    tilewright_compile_together(${target})
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY TILEWRIGHT_STAGES ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  set(tilewright_stage_scope ${scope} PARENT_SCOPE)
  target_include_directories(${target} ${scope}
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} ${scope} ${arg_DEPENDS} tilewright_dep_headers)
endfunction()

# Links `target` to something that only this stage's own sources see.
function(tilewright_stage_links name)
  get_target_property(type tilewright_${name} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(tilewright_${name} PRIVATE ${ARGN})
  endif()
endfunction()
