# Finds the Python that runs the code generator: 3.11 or newer, with Jinja2 and PyYAML. Tries the
# distribution's /usr/bin/python3 first, because another Python on PATH may not have the modules.
# The cache variable SPIRLOOM_PYTHON contains the result; users may set it.
include_guard(GLOBAL)

# spirloom_python_works(RESULT PYTHON): whether the interpreter can run the code generator.
function(spirloom_python_works result python)
  if(ARGN)
    message(FATAL_ERROR "spirloom_python_works: unexpected arguments: ${ARGN}")
  endif()
  set(${result} FALSE PARENT_SCOPE)
  if(EXISTS "${python}")
    execute_process(
      COMMAND "${python}" -c "import sys, jinja2, yaml; sys.exit(sys.version_info < (3, 11))"
      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# spirloom_find_python(): sets the cache variable SPIRLOOM_PYTHON, or fails.
function(spirloom_find_python)
  if(SPIRLOOM_PYTHON)
    set(candidates "${SPIRLOOM_PYTHON}")
  else()
    find_program(SPIRLOOM_PATH_PYTHON NAMES python3 python)
    mark_as_advanced(SPIRLOOM_PATH_PYTHON)
    set(candidates /usr/bin/python3 "${SPIRLOOM_PATH_PYTHON}")
  endif()
  foreach(candidate IN LISTS candidates)
    spirloom_python_works(works "${candidate}")
    if(works)
      set(SPIRLOOM_PYTHON "${candidate}" CACHE FILEPATH "Python that runs the code generator")
      return()
    endif()
  endforeach()
  message(FATAL_ERROR
    "No Python 3.11 or newer with the modules jinja2 and yaml was found among: ${candidates}.\n"
    "On Debian and Ubuntu: apt-get install python3 python3-jinja2 python3-yaml. "
    "Or set -DSPIRLOOM_PYTHON=/path/to/python3.")
endfunction()

# spirloom_add_venv(TARGET SCHEMA...): a target, part of `all`, that creates <source>/.venv with
# SPIRLOOM_PYTHON. It contains codegen, spec_model, the Python package, bindings of the FlatBuffers
# schemas and the launcher bin/spirloom, and has access to the distribution's packages. It is
# replaced atomically.
function(spirloom_add_venv target)
  set(venv "${PROJECT_SOURCE_DIR}/.venv")
  set(tool "${PROJECT_SOURCE_DIR}/cmake/make_venv.py")
  add_custom_command(
    OUTPUT "${venv}/bin/spirloom"
    COMMAND "${SPIRLOOM_PYTHON}" "${tool}" --root "${PROJECT_SOURCE_DIR}" --venv "${venv}"
            --flatc "${SPIRLOOM_FLATC}" ${ARGN}
    DEPENDS "${tool}" ${ARGN}
    COMMENT "Creating .venv"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${venv}/bin/spirloom")
endfunction()

spirloom_find_python()
if(COMMAND spirloom_check_python_modules)  # not in the installed package
  spirloom_check_python_modules("${SPIRLOOM_PYTHON}")
endif()
