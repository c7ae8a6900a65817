# Functions that find third-party libraries. A missing library is an error that names its Debian
# package.
include_guard(GLOBAL)

# spirloom_require(FOUND_VARIABLE NAME PACKAGE): fails with the name of the Debian package if the
# variable is false.
function(spirloom_require found name package)
  if(ARGN)
    message(FATAL_ERROR "spirloom_require: unexpected arguments: ${ARGN}")
  endif()
  if(NOT ${found})
    set(fetch "")
    if(DEFINED SPIRLOOM_FETCH_DEPENDENCIES AND NOT SPIRLOOM_FETCH_DEPENDENCIES AND NOT SPIRLOOM_TESTS)
      set(fetch "\nWithout packages, from source archives: -DSPIRLOOM_FETCH_DEPENDENCIES=ON or, by pip: "
                "pip install --config-settings=cmake.define.SPIRLOOM_FETCH_DEPENDENCIES=ON")
    endif()
    message(FATAL_ERROR "${name} was not found. On Debian and Ubuntu: apt-get install ${package}\n"
                        "(./dev build installs all missing packages.)" ${fetch})
  endif()
endfunction()

# spirloom_find(NAME PACKAGE [TARGET...]): finds a required CMake package that defines the targets,
# unless the last of them exists.
function(spirloom_find name package)
  list(GET ARGV -1 last)
  if(TARGET "${last}")
    return()
  endif()
  find_package(${name} CONFIG QUIET GLOBAL)
  spirloom_require(${name}_FOUND ${name} ${package})
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "${name} does not define the target ${target}. "
                          "Debian's ${package} is the tested package.")
    endif()
  endforeach()
endfunction()

# spirloom_find_header(TARGET HEADER PACKAGE [LIBRARY]): finds a library without CMake support, and
# defines an imported target.
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
