# Build options, and spirloom_warnings, the interface target that all our targets link.
include_guard(GLOBAL)

set(SPIRLOOM_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
set(SPIRLOOM_SHADERC "" CACHE FILEPATH
  "An existing spirloom-shaderc for the build host, for cross-compiling; empty: build it")
option(SPIRLOOM_FUZZ "Build the libFuzzer targets (requires Clang)" OFF)

# Files that unity builds (CMAKE_UNITY_BUILD) compile at once: parsing the same headers takes half of
# the time of small ones. Of the runtime, 60 take 52 s of CPU time, 40 take 56 s, 24 take 74 s.
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 50)
endif()

# Selection of spirloom::shaders_all (docs/how-to/shrink-the-binary.md); all operators if all are
# empty.
set(SPIRLOOM_OPS "" CACHE STRING "Operators to keep: full or short names, globs")
set(SPIRLOOM_OPS_YAML "" CACHE STRING "Files that list operators, each with optional dtypes and storages")
set(SPIRLOOM_MODELS "" CACHE STRING "Models (.slg, .onnx, .pte) whose operators to keep")
set(SPIRLOOM_DTYPES "" CACHE STRING "Keep only kernels with these dtypes")
set(SPIRLOOM_STORAGES "" CACHE STRING "Keep only kernels with these storages")

# Compressed shader libraries. Off in subprojects, which avoids the dependency.
set(spirloom_zstd OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
  set(spirloom_zstd ON)
endif()
option(SPIRLOOM_ZSTD "Write and read compressed shader libraries (requires libzstd)" ${spirloom_zstd})
option(SPIRLOOM_DEBUG_SHADERS
  "Shader libraries contain unoptimized modules with their source, for debuggers such as RenderDoc" OFF)
option(SPIRLOOM_COMPRESS "Compress the embedded library spirloom::shaders_all" OFF)

# For kernel development: spirloom-run --dev-templates, which uses the tools of this build tree.
set(spirloom_dev OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING AND NOT WIN32)
  set(spirloom_dev ON)
endif()
option(SPIRLOOM_DEV_TEMPLATES "Compile templates at run time (spirloom::dev)" ${spirloom_dev})

# Example: -Dexecutorch_DIR=<site-packages>/executorch/share/cmake.
option(SPIRLOOM_EXECUTORCH "Build spirloom::executorch, ExecuTorch's Vulkan backend" OFF)

# Example: -DSPIRLOOM_TORCH_PYTHONS="env-2.13/bin/python3;env-2.15/bin/python3".
set(SPIRLOOM_TORCH_PYTHONS "" CACHE STRING
  "Python interpreters with PyTorch, one for each minor version for which to build PyTorch's device vulkan")

# Programs that use the JDK are tested if it is installed. AUTO is not replaced in the cache: a JDK may
# be installed later.
set(SPIRLOOM_BUILD_JAVA AUTO CACHE STRING
  "Build the package org.spirloom for Java and Android (requires a JDK): ON, OFF, or AUTO, if possible")
set(spirloom_java OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING AND NOT WIN32 AND NOT BUILD_SHARED_LIBS
   AND NOT SPIRLOOM_WHEEL)
  find_package(Java QUIET COMPONENTS Development)
  if(Java_Development_FOUND)
    set(spirloom_java ON)
  endif()
endif()
if(SPIRLOOM_BUILD_JAVA STREQUAL "AUTO")
  set(SPIRLOOM_BUILD_JAVA ${spirloom_java})
endif()

# Android's NDK and MinGW have their own C library, whose headers those of the build host would hide.
set(spirloom_host_headers OFF)
if(ANDROID OR (MINGW AND CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux"))
  set(spirloom_host_headers ON)
endif()
option(SPIRLOOM_HOST_HEADERS "Use only the required headers of the build host, for cross-compiling"
  ${spirloom_host_headers})
option(SPIRLOOM_FETCH_DEPENDENCIES
  "Build third-party libraries from source archives of Debian (cmake/archives.csv), not from packages"
  OFF)

option(SPIRLOOM_WHEEL "Define the target spirloom_wheel, which pip install . builds" OFF)

# On in the wheel. Off in builds for development, whose many programs would take longer to link, and
# in subprojects, which follow CMAKE_INTERPROCEDURAL_OPTIMIZATION.
set(spirloom_lto OFF)
if(SPIRLOOM_WHEEL)
  set(spirloom_lto ON)
endif()
option(SPIRLOOM_LTO "Optimize Release builds at link time" ${spirloom_lto})

option(SPIRLOOM_FAST_RESIZE
  "Resize() to a new shape evaluates the formulas of a compiled plan; OFF: the runtime is smaller, and compiles each new shape"
  ON)

set(spirloom_tests OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
  set(spirloom_tests ON)
endif()
option(SPIRLOOM_TESTS "Build the tests, examples and benchmarks" ${spirloom_tests})
option(SPIRLOOM_INSTALL "Define install rules" ${PROJECT_IS_TOP_LEVEL})

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

if(SPIRLOOM_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SPIRLOOM_FUZZ requires Clang; the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                      "Use `cmake --preset clang`.")
endif()

# Sources for one platform are named <topic>_<platform>.cpp.
set(SPIRLOOM_PLATFORM posix)
if(WIN32)
  set(SPIRLOOM_PLATFORM windows)
endif()

# Language level, warnings and code generation flags. Linked PRIVATE, so users do not inherit them.
add_library(spirloom_warnings INTERFACE)
target_compile_features(spirloom_warnings INTERFACE cxx_std_20)
target_compile_options(spirloom_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wconversion;-Wshadow
    -ffunction-sections;-fdata-sections>
  $<$<COMPILE_LANG_AND_ID:CXX,MSVC>:/W4;/permissive->)
target_compile_options(spirloom_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-fvisibility=hidden;-fvisibility-inlines-hidden>)
target_compile_definitions(spirloom_warnings INTERFACE
  $<$<PLATFORM_ID:Windows>:NOMINMAX;WIN32_LEAN_AND_MEAN;_WIN32_WINNT=0x0A00>
  $<$<COMPILE_LANG_AND_ID:CXX,MSVC>:_CRT_SECURE_NO_WARNINGS>)
# Errors only with the compilers that CI builds with (Debian 12 and 13): others know other warnings,
# which must not fail a build. Off in subprojects.
set(spirloom_compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
set(spirloom_warnings_as_errors OFF)
if(PROJECT_IS_TOP_LEVEL AND spirloom_compiler MATCHES "^(GNU (12|14)|Clang (14|19))[.]")
  set(spirloom_warnings_as_errors ON)
endif()
option(SPIRLOOM_WARNINGS_AS_ERRORS "Warnings of the C++ compiler are errors" ${spirloom_warnings_as_errors})
if(SPIRLOOM_WARNINGS_AS_ERRORS)
  target_compile_options(spirloom_warnings INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Werror>)
endif()
# GCC 12 wrongly reports overlapping copies in `"text" + std::string` (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(spirloom_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_link_options(spirloom_warnings INTERFACE
  $<$<OR:$<PLATFORM_ID:Linux,Android>,$<BOOL:${MINGW}>>:LINKER:--gc-sections>
  $<$<BOOL:${MINGW}>:LINKER:--no-insert-timestamp>)  # equal bytes of equal builds
# Archives also contain machine code if they are installed, because only the compiler of the same
# version reads the bytecode (SpirloomInstall.cmake).
if(SPIRLOOM_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT spirloom_lto OUTPUT reason LANGUAGES CXX)
  if(spirloom_lto)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE ON)
    # One process analyzes and compiles: MinGW's GCC 12 cannot read its own partitions, with an
    # internal error (binds_to_current_def_p) or "two or more sections for .gnu.lto_…".
    target_link_options(spirloom_warnings INTERFACE
      $<$<AND:$<BOOL:${MINGW}>,$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-flto-partition=none>)
    if(SPIRLOOM_INSTALL AND NOT BUILD_SHARED_LIBS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(spirloom_warnings INTERFACE
        $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-ffat-lto-objects>)
    endif()
  else()
    message(STATUS "SPIRLOOM_LTO has no effect: the compiler does not support link-time optimization. ${reason}")
  endif()
endif()
# For code that is not performance-critical: command lines, reports, the shader compiler without
# glslang and SPIRV-Tools. Reduces build time. Linked PRIVATE in addition to spirloom_warnings.
add_library(spirloom_quick_build INTERFACE)
target_compile_options(spirloom_quick_build INTERFACE
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>,$<CONFIG:Release>>:-O1>)
if(SPIRLOOM_SANITIZE)  # not vptr: Debian's glslang and SPIRV-Tools are built without RTTI
  target_compile_options(spirloom_warnings INTERFACE
    "-fsanitize=${SPIRLOOM_SANITIZE}" -fno-sanitize=vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # Enables our assertions and those of the standard library.
  target_compile_options(spirloom_warnings INTERFACE -UNDEBUG)
  target_compile_definitions(spirloom_warnings INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(spirloom_warnings INTERFACE "-fsanitize=${SPIRLOOM_SANITIZE}")
endif()
