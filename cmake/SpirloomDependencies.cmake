# Third-party libraries, all from the distribution. A missing library is an error that names its
# Debian package.
#
# Targets: Threads::Threads; headers Vulkan::Headers xxHash::xxhash
# flatbuffers::flatbuffers nlohmann_json::nlohmann_json CLI11::CLI11; for the shader compiler
# SPIRV-Headers::SPIRV-Headers SPIRV-Tools-static SPIRV-Tools-opt glslang::glslang (and its parts);
# for tests GTest::gtest GTest::gmock benchmark::benchmark. SPIRLOOM_FLATC is the program flatc.
include_guard(GLOBAL)
if(MINGW AND CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux")
  include("${CMAKE_CURRENT_LIST_DIR}/SpirloomMingwDependencies.cmake")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomRuntimeDependencies.cmake")

if(SPIRLOOM_HOST_HEADERS)
  include("${CMAKE_CURRENT_LIST_DIR}/SpirloomAndroidDependencies.cmake")
endif()

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
find_program(SPIRLOOM_FLATC flatc)
mark_as_advanced(SPIRLOOM_FLATC)
spirloom_require(SPIRLOOM_FLATC flatc flatbuffers-compiler)
if(NOT SPIRLOOM_SHADERC)
  spirloom_find(SPIRV-Headers spirv-headers SPIRV-Headers::SPIRV-Headers)
  spirloom_find(SPIRV-Tools spirv-tools SPIRV-Tools-static)
  spirloom_find(SPIRV-Tools-opt spirv-tools SPIRV-Tools-opt)
  spirloom_find(glslang "glslang-dev glslang-tools" glslang::glslang)
endif()
if(SPIRLOOM_TESTS)
  spirloom_find(GTest "libgtest-dev libgmock-dev" GTest::gtest GTest::gmock)
  spirloom_find(benchmark libbenchmark-dev benchmark::benchmark)
endif()
