# Options of the build, and the interface target every target of ours links: spirloom_warnings.
include_guard(GLOBAL)

set(SPIRLOOM_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
set(SPIRLOOM_SHADERC "" CACHE FILEPATH
  "An existing spirloom-shaderc to use, for the host when cross-compiling; empty: build it")
option(SPIRLOOM_FUZZ "Build the libFuzzer targets (needs Clang)" OFF)

# What spirloom::shaders_all keeps (docs/how-to/shrink-the-binary.md); everything if all are empty.
set(SPIRLOOM_OPS "" CACHE STRING "Operators to keep: full or short names, globs")
set(SPIRLOOM_OPS_YAML "" CACHE STRING "Files that list operators, each with optional dtypes and storages")
set(SPIRLOOM_MODELS "" CACHE STRING "Models (.slg, .onnx, .pte) to keep what they can need of")
set(SPIRLOOM_DTYPES "" CACHE STRING "Keep only kernels with these dtypes")
set(SPIRLOOM_STORAGES "" CACHE STRING "Keep only kernels with these storages")

# Compressed shader libraries. A project that takes Spirloom in and wants none saves the dependency.
set(spirloom_zstd OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
  set(spirloom_zstd ON)
endif()
option(SPIRLOOM_ZSTD "Write and read compressed shader libraries (needs libzstd)" ${spirloom_zstd})
option(SPIRLOOM_COMPRESS "Compress what spirloom::shaders_all embeds" OFF)

# For writing kernels: spirloom-run --dev-templates, which knows where this build's tools lie.
set(spirloom_dev OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING AND NOT WIN32)
  set(spirloom_dev ON)
endif()
option(SPIRLOOM_DEV_TEMPLATES "Templates compiled while a program runs (spirloom::dev)" ${spirloom_dev})

# Found, for example, with -Dexecutorch_DIR=<site-packages>/executorch/share/cmake.
option(SPIRLOOM_EXECUTORCH "Build spirloom::executorch, ExecuTorch's Vulkan backend" OFF)

option(SPIRLOOM_WHEEL "Make the target spirloom_wheel: what pip install . installs" OFF)

set(spirloom_tests OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
  set(spirloom_tests ON)
endif()
option(SPIRLOOM_TESTS "Build the tests, examples and benchmarks" ${spirloom_tests})
option(SPIRLOOM_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

if(SPIRLOOM_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SPIRLOOM_FUZZ needs Clang; the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                      "Use `cmake --preset clang`.")
endif()

# Language level, warnings and code generation flags. Linked PRIVATE, so users inherit none of it.
add_library(spirloom_warnings INTERFACE)
target_compile_features(spirloom_warnings INTERFACE cxx_std_20)
target_compile_options(spirloom_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wconversion;-Wshadow
    -ffunction-sections;-fdata-sections>
  $<$<COMPILE_LANG_AND_ID:CXX,MSVC>:/W4;/permissive->)
target_compile_options(spirloom_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-fvisibility=hidden;-fvisibility-inlines-hidden>)
if(PROJECT_IS_TOP_LEVEL)  # a warning of some other compiler must not stop a user's build
  target_compile_options(spirloom_warnings INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Werror>)
endif()
# GCC 12 sees overlapping copies in `"text" + std::string` where there are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(spirloom_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_link_options(spirloom_warnings INTERFACE
  $<$<PLATFORM_ID:Linux>:LINKER:--gc-sections>)
# For what hardly computes itself: command lines, reports, the shader compiler around glslang and
# SPIRV-Tools. Optimising it further takes longer than it ever saves. Linked
# PRIVATE beside the former.
add_library(spirloom_quick_build INTERFACE)
target_compile_options(spirloom_quick_build INTERFACE
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>,$<CONFIG:Release>>:-O1>)
if(SPIRLOOM_SANITIZE)  # not vptr: Debian's glslang and SPIRV-Tools are built without RTTI
  target_compile_options(spirloom_warnings INTERFACE
    "-fsanitize=${SPIRLOOM_SANITIZE}" -fno-sanitize=vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # Our assertions, and the standard library's.
  target_compile_options(spirloom_warnings INTERFACE -UNDEBUG)
  target_compile_definitions(spirloom_warnings INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(spirloom_warnings INTERFACE "-fsanitize=${SPIRLOOM_SANITIZE}")
endif()
