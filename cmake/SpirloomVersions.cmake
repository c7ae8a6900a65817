# Checks the versions of dependencies: dependencies.csv has the oldest and the newest tested version
# of each. An older one is an error that names the remedy; a newer one is reported. A version in the
# table that states fewer parts than the one found is compared with as many parts of that (GCC 12.2.0
# is 12; Debian's MinGW calls itself 12.0.0).
include_guard(GLOBAL)

set(SPIRLOOM_DEPENDENCIES "${CMAKE_CURRENT_LIST_DIR}/dependencies.csv")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${SPIRLOOM_DEPENDENCIES}")

# spirloom_version_as(RESULT VERSION OTHER): as many parts of VERSION as OTHER has.
function(spirloom_version_as result version other)
  string(REPLACE "." ";" parts "${version}")
  string(REPLACE "." ";" other_parts "${other}")
  list(LENGTH other_parts count)
  list(SUBLIST parts 0 ${count} parts)
  list(JOIN parts "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# spirloom_check_version(NAME VERSION): checks a version of the dependency NAME. An empty version,
# of a library that does not state one, is accepted.
function(spirloom_check_version name version)
  if(ARGN)
    message(FATAL_ERROR "spirloom_check_version: unexpected arguments: ${ARGN}")
  endif()
  if(version STREQUAL "")
    return()
  endif()
  file(STRINGS "${SPIRLOOM_DEPENDENCIES}" row REGEX "^${name},")
  string(REPLACE "," ";" row "${row}")
  list(LENGTH row columns)
  if(NOT columns EQUAL 5)
    message(FATAL_ERROR "spirloom_check_version: ${SPIRLOOM_DEPENDENCIES} has no row of '${name}'")
  endif()
  list(GET row 1 package)
  list(GET row 2 oldest)
  list(GET row 3 newest)
  spirloom_version_as(as_oldest "${version}" "${oldest}")
  spirloom_version_as(as_newest "${version}" "${newest}")
  if(as_oldest VERSION_LESS oldest)
    message(FATAL_ERROR
      "${name} ${version} was found; ${oldest} or newer is required (tested up to ${newest}). "
      "Debian 12 and newer have it: apt-get install ${package}")
  elseif(as_newest VERSION_GREATER newest AND PROJECT_IS_TOP_LEVEL)
    message(STATUS "${name} ${version} is newer than the newest tested version, ${newest}")
  endif()
endfunction()

# spirloom_header_version(RESULT DIRECTORY HEADER MACRO...): the values of macros of a header, joined
# by dots; empty if the header does not define all of them.
function(spirloom_header_version result directory header)
  set(numbers "")
  foreach(macro IN LISTS ARGN)
    file(STRINGS "${directory}/${header}" line REGEX "define +${macro} ")
    if(NOT line MATCHES "${macro} +([0-9]+)")
      set(${result} "" PARENT_SCOPE)
      return()
    endif()
    list(APPEND numbers "${CMAKE_MATCH_1}")
  endforeach()
  list(JOIN numbers "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# spirloom_check_python_modules(PYTHON): checks the Python modules that are installed.
function(spirloom_check_python_modules python)
  set(modules Jinja2 PyYAML NumPy ONNX)
  execute_process(
    COMMAND "${python}" -c [[
import sys
from importlib.metadata import PackageNotFoundError, version
print("Python", ".".join(map(str, sys.version_info[:2])))
for name in sys.argv[1:]:
    try:
        print(name, version(name))
    except PackageNotFoundError:
        pass
]] ${modules}
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" found "${found}")
  foreach(module IN LISTS found)
    separate_arguments(module)
    spirloom_check_version(${module})
  endforeach()
endfunction()
