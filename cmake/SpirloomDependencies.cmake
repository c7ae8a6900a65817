# Third-party libraries, all from the distribution. A missing one stops configuration and names the
# Debian package that has it.
#
# Targets made available: Threads::Threads Vulkan::Headers volk::volk flatbuffers::flatbuffers
# flatbuffers::flatc SPIRV-Headers::SPIRV-Headers SPIRV-Tools-static SPIRV-Tools-opt
# glslang::glslang (and its parts)
# nlohmann_json::nlohmann_json CLI11::CLI11 xxHash::xxhash; for a top-level build also GTest::gtest
# GTest::gmock benchmark::benchmark. SPIRLOOM_FLATC is the program flatc.
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

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
spirloom_find(VulkanHeaders libvulkan-dev Vulkan::Headers)
spirloom_find_header(volk::volk volk.h libvulkan-volk-dev)
set_target_properties(volk::volk PROPERTIES INTERFACE_COMPILE_DEFINITIONS VK_NO_PROTOTYPES)
target_link_libraries(volk::volk INTERFACE Vulkan::Headers ${CMAKE_DL_LIBS})
spirloom_find(FlatBuffers "libflatbuffers-dev flatbuffers-compiler-dev"
  flatbuffers::flatbuffers flatbuffers::flatc)
spirloom_find(SPIRV-Headers spirv-headers SPIRV-Headers::SPIRV-Headers)
spirloom_find(SPIRV-Tools spirv-tools SPIRV-Tools-static)
spirloom_find(SPIRV-Tools-opt spirv-tools SPIRV-Tools-opt)
spirloom_find(glslang "glslang-dev glslang-tools" glslang::glslang)
spirloom_find(nlohmann_json nlohmann-json3-dev nlohmann_json::nlohmann_json)
spirloom_find(CLI11 libcli11-dev CLI11::CLI11)
spirloom_find_header(xxHash::xxhash xxhash.h libxxhash-dev xxhash)
find_program(SPIRLOOM_FLATC flatc)
mark_as_advanced(SPIRLOOM_FLATC)
spirloom_require(SPIRLOOM_FLATC flatc flatbuffers-compiler)
if(PROJECT_IS_TOP_LEVEL)
  spirloom_find(GTest "libgtest-dev libgmock-dev" GTest::gtest GTest::gmock)
  spirloom_find(benchmark libbenchmark-dev benchmark::benchmark)
endif()
