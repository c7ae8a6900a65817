# Functions that find third-party libraries. A missing one stops configuration and names the Debian
# package that has it.
include_guard(GLOBAL)

# spirloom_require(FOUND_VARIABLE NAME PACKAGE): an error naming the Debian package unless the
# variable is true.
function(spirloom_require found name package)
  if(ARGN)
    message(FATAL_ERROR "spirloom_require: unexpected arguments: ${ARGN}")
  endif()
  if(NOT ${found})
    message(FATAL_ERROR "${name} was not found. On Debian and Ubuntu: apt-get install ${package}\n"
                        "(./dev build installs everything that is missing.)")
  endif()
endfunction()

# spirloom_find(NAME PACKAGE [TARGET...]): a CMake package that must be there and define the targets.
function(spirloom_find name package)
  find_package(${name} CONFIG QUIET GLOBAL)
  spirloom_require(${name}_FOUND ${name} ${package})
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "${name} does not define the target ${target}. "
                          "The version known to work is Debian 12's ${package}.")
    endif()
  endforeach()
endfunction()

# spirloom_find_header(TARGET HEADER PACKAGE [LIBRARY]): a library without CMake support, as an
# imported target.
function(spirloom_find_header target header package)
  if(TARGET ${target})
    return()
  endif()
  cmake_path(GET header STEM stem)
  find_path(SPIRLOOM_${stem}_INCLUDE ${header})
  mark_as_advanced(SPIRLOOM_${stem}_INCLUDE)
  spirloom_require(SPIRLOOM_${stem}_INCLUDE ${header} ${package})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${SPIRLOOM_${stem}_INCLUDE}")
  if(ARGN)
    find_library(SPIRLOOM_${stem}_LIBRARY ${ARGN})
    mark_as_advanced(SPIRLOOM_${stem}_LIBRARY)
    spirloom_require(SPIRLOOM_${stem}_LIBRARY "lib${ARGN}" ${package})
    target_link_libraries(${target} INTERFACE "${SPIRLOOM_${stem}_LIBRARY}")
  endif()
endfunction()
