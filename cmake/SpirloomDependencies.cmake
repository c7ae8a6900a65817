# Third-party libraries: from the distribution or, with SPIRLOOM_FETCH_DEPENDENCIES, built from source
# archives. A missing library is an error that names its Debian package.
#
# Targets: Threads::Threads; headers Vulkan::Headers xxHash::xxhash
# flatbuffers::flatbuffers nlohmann_json::nlohmann_json CLI11::CLI11; for the shader compiler
# SPIRV-Headers::SPIRV-Headers SPIRV-Tools-opt glslang::glslang (and its parts);
# for tests GTest::gtest GTest::gmock benchmark::benchmark. SPIRLOOM_FLATC is the program flatc.
include_guard(GLOBAL)
# Headers of the build host have the version of its flatc, so that they are not fetched.
if(SPIRLOOM_HOST_HEADERS)
  include("${CMAKE_CURRENT_LIST_DIR}/SpirloomHostHeaders.cmake")
elseif(SPIRLOOM_FETCH_DEPENDENCIES)
  include("${CMAKE_CURRENT_LIST_DIR}/SpirloomFetchedTools.cmake")
endif()
if(SPIRLOOM_FETCH_DEPENDENCIES)
  include("${CMAKE_CURRENT_LIST_DIR}/SpirloomFetchedLibraries.cmake")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomRuntimeDependencies.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomVersions.cmake")

# Searches for header files, not packages, so that cross builds can use the headers of the build
# host.
spirloom_find_header(Vulkan::Headers vulkan/vulkan.h libvulkan-dev)
spirloom_find_header(xxHash::xxhash xxhash.h libxxhash-dev)
if(NOT TARGET spirloom_xxhash)  # separate target: xxHash::xxhash may belong to a parent project
  add_library(spirloom_xxhash INTERFACE IMPORTED GLOBAL)
  target_compile_definitions(spirloom_xxhash INTERFACE XXH_INLINE_ALL)
  target_link_libraries(spirloom_xxhash INTERFACE xxHash::xxhash)
endif()
spirloom_find_header(flatbuffers::flatbuffers flatbuffers/flatbuffers.h libflatbuffers-dev)
if(NOT TARGET nlohmann_json::nlohmann_json)
  spirloom_find(nlohmann_json nlohmann-json3-dev nlohmann_json::nlohmann_json)
endif()
if(NOT TARGET CLI11::CLI11)
  spirloom_find(CLI11 libcli11-dev CLI11::CLI11)
endif()
if(NOT TARGET flatc)
  find_program(SPIRLOOM_FLATC flatc)
  mark_as_advanced(SPIRLOOM_FLATC)
  spirloom_require(SPIRLOOM_FLATC flatc flatbuffers-compiler)
endif()
if(NOT SPIRLOOM_SHADERC)
  spirloom_find(SPIRV-Headers spirv-headers SPIRV-Headers::SPIRV-Headers)
  if(NOT TARGET SPIRV-Tools-opt)
    spirloom_find(SPIRV-Tools spirv-tools)  # SPIRV-Tools-opt links it: its static or shared library
  endif()
  spirloom_find(SPIRV-Tools-opt spirv-tools SPIRV-Tools-opt)
  spirloom_find(glslang "glslang-dev glslang-tools" glslang::glslang)
endif()
if(SPIRLOOM_TESTS)
  spirloom_find(GTest "libgtest-dev libgmock-dev" GTest::gtest GTest::gmock)
  spirloom_find(benchmark libbenchmark-dev benchmark::benchmark)
endif()

# Versions of the libraries and tools. Libraries of a parent project have no known version.
spirloom_check_version(CMake "${CMAKE_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  spirloom_check_version(GCC "${CMAKE_CXX_COMPILER_VERSION}")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  spirloom_check_version(Clang "${CMAKE_CXX_COMPILER_VERSION}")
endif()
if(SPIRLOOM_vulkan_INCLUDE)
  file(STRINGS "${SPIRLOOM_vulkan_INCLUDE}/vulkan/vulkan_core.h" complete
    REGEX "define VK_HEADER_VERSION_COMPLETE ")
  spirloom_header_version(patch "${SPIRLOOM_vulkan_INCLUDE}" vulkan/vulkan_core.h VK_HEADER_VERSION)
  if(complete MATCHES "\\(0, ([0-9]+), ([0-9]+),")
    spirloom_check_version("Vulkan headers" "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${patch}")
  endif()
endif()
if(SPIRLOOM_flatbuffers_INCLUDE)
  set(macro FLATBUFFERS_VERSION_)
  spirloom_header_version(version "${SPIRLOOM_flatbuffers_INCLUDE}" flatbuffers/base.h
    ${macro}MAJOR ${macro}MINOR ${macro}REVISION)
  spirloom_check_version(FlatBuffers "${version}")
endif()
if(SPIRLOOM_xxhash_INCLUDE)
  set(macro XXH_VERSION_)
  spirloom_header_version(version "${SPIRLOOM_xxhash_INCLUDE}" xxhash.h
    ${macro}MAJOR ${macro}MINOR ${macro}RELEASE)
  spirloom_check_version(xxHash "${version}")
endif()
if(SPIRLOOM_ZSTD AND SPIRLOOM_zstd_INCLUDE)
  set(macro ZSTD_VERSION_)
  spirloom_header_version(version "${SPIRLOOM_zstd_INCLUDE}" zstd.h
    ${macro}MAJOR ${macro}MINOR ${macro}RELEASE)
  spirloom_check_version(zstd "${version}")
endif()
foreach(package IN ITEMS nlohmann_json CLI11 glslang SPIRV-Tools SPIRV-Headers GTest benchmark)
  spirloom_check_version(${package} "${${package}_VERSION}")
endforeach()
