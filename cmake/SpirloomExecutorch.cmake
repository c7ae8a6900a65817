# Finds ExecuTorch: SPIRLOOM_EXECUTORCH builds against its wheel (find_package(executorch)).
#
# Spirloom's wheel contains the delegate if ExecuTorch is installed for the Python that builds, or
# if its wheel can be downloaded from PyPI, for the headers. Otherwise the wheel does not contain
# the delegate.
include_guard(GLOBAL)
set(SPIRLOOM_EXECUTORCH_VERSION 1.5.1)

# spirloom_unpack_executorch(RESULT): downloads ExecuTorch, and returns the directory of its CMake
# package; "" on failure.
function(spirloom_unpack_executorch result)
  set(directory "${PROJECT_BINARY_DIR}/executorch-${SPIRLOOM_EXECUTORCH_VERSION}")
  set(package "${directory}/executorch/share/cmake")
  if(NOT EXISTS "${package}")
    message(STATUS "Fetching ExecuTorch ${SPIRLOOM_EXECUTORCH_VERSION} from PyPI")
    set(platform "")
    if(CMAKE_CROSSCOMPILING)
      set(platform --platform "manylinux_2_28_${CMAKE_SYSTEM_PROCESSOR}")
    endif()
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -m pip download --quiet --no-deps --only-binary=:all:
              ${platform} --dest "${directory}" "executorch==${SPIRLOOM_EXECUTORCH_VERSION}"
      RESULT_VARIABLE status)
    file(GLOB wheel "${directory}/executorch-*.whl")
    if(status EQUAL 0 AND wheel)
      file(ARCHIVE_EXTRACT INPUT "${wheel}" DESTINATION "${directory}"
        PATTERNS "executorch/include/*" "executorch/share/*" "executorch/lib/libexecutorch.so")
    endif()
  endif()
  if(NOT EXISTS "${package}")
    set(package "")
  endif()
  set(${result} "${package}" PARENT_SCOPE)
endfunction()

if(SPIRLOOM_WHEEL AND NOT SPIRLOOM_EXECUTORCH AND Python_EXECUTABLE AND NOT WIN32)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('platlib'))"
    OUTPUT_VARIABLE site OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT executorch_DIR AND NOT CMAKE_CROSSCOMPILING)
    set(executorch_DIR "${site}/executorch/share/cmake")
  endif()
  if(NOT EXISTS "${executorch_DIR}/executorch-config.cmake")
    spirloom_unpack_executorch(executorch_DIR)
  endif()
  if(executorch_DIR)
    set(SPIRLOOM_EXECUTORCH ON)
  else()
    message(STATUS "ExecuTorch was not found: the wheel does not contain the library "
                   "of spirloom.executorch.")
  endif()
endif()
