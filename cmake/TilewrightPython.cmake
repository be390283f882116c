# Whether the Python package is built, and by which Python. A build tree uses the environment that
# scripts/setup.sh keeps in .venv; a wheel's build says its own Python.
if(NOT SKBUILD AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python" AND NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()
if(TILEWRIGHT_BUILD_PYTHON STREQUAL "AUTO")
  set(TILEWRIGHT_BUILD_PYTHON OFF)
  if(PROJECT_IS_TOP_LEVEL AND Python_EXECUTABLE AND BUILD_SHARED_LIBS AND NOT TILEWRIGHT_SANITIZE)
    execute_process(COMMAND "${Python_EXECUTABLE}" -c "import nanobind"
      RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      set(TILEWRIGHT_BUILD_PYTHON ON)
    endif()
  endif()
endif()
message(STATUS "Python package: ${TILEWRIGHT_BUILD_PYTHON}")
