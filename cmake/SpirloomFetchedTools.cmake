# Headers, the FlatBuffers compiler and the libraries of the shader compiler, built from source
# archives (SPIRLOOM_FETCH_DEPENDENCIES), for machines without development packages.
#
# Targets: Vulkan::Headers xxHash::xxhash nlohmann_json::nlohmann_json CLI11::CLI11
# flatbuffers::flatbuffers; without SPIRLOOM_SHADERC also SPIRV-Headers::SPIRV-Headers SPIRV-Tools-opt
# glslang::glslang. SPIRLOOM_FLATC is the program flatc of the build.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomArchives.cmake")

# spirloom_fetch_headers(NAME TARGET DIRECTORY): downloads an archive and defines an imported target
# with a directory of its headers.
function(spirloom_fetch_headers name target directory)
  if(ARGN)
    message(FATAL_ERROR "spirloom_fetch_headers(${name}): unexpected arguments: ${ARGN}")
  endif()
  spirloom_fetch(${name})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${${name}_SOURCE_DIR}/${directory}")
endfunction()

# spirloom_add_fetched(NAME): downloads an archive and adds its CMake project, of which only targets
# that others require are built. Variables of the caller are its options.
function(spirloom_add_fetched name)
  if(ARGN)
    message(FATAL_ERROR "spirloom_add_fetched(${name}): unexpected arguments: ${ARGN}")
  endif()
  spirloom_fetch(${name})
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # option() keeps the variables of the caller
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
  # Their compilation takes most of the time, they themselves little.
  string(REPLACE "-O3" "-O1" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  set(CMAKE_UNITY_BUILD OFF)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE OFF)
  set(CMAKE_MESSAGE_LOG_LEVEL NOTICE)
  set(BUILD_SHARED_LIBS OFF)
  add_subdirectory("${${name}_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/_deps/${name}-build"
    EXCLUDE_FROM_ALL SYSTEM)
endfunction()

spirloom_fetch_headers(vulkan Vulkan::Headers vulkan-headers/include)
spirloom_fetch_headers(xxhash xxHash::xxhash .)
spirloom_fetch_headers(nlohmann_json nlohmann_json::nlohmann_json single_include)
spirloom_fetch_headers(cli11 CLI11::CLI11 include)
spirloom_fetch_headers(flatbuffers flatbuffers::flatbuffers include)

block()
  set(FLATBUFFERS_BUILD_TESTS OFF)
  set(FLATBUFFERS_BUILD_FLATLIB OFF)
  set(FLATBUFFERS_BUILD_FLATHASH OFF)
  set(FLATBUFFERS_INSTALL OFF)
  spirloom_add_fetched(flatbuffers)
endblock()
set(SPIRLOOM_FLATC "$<TARGET_FILE:flatc>")

if(SPIRLOOM_SHADERC)
  return()
endif()

block()
  set(SPIRV_HEADERS_ENABLE_TESTS OFF)
  set(SPIRV_HEADERS_ENABLE_INSTALL OFF)
  spirloom_add_fetched(spirv-headers)
endblock()

block()
  set(SPIRV_SKIP_TESTS ON)
  set(SPIRV_SKIP_EXECUTABLES ON)
  set(SKIP_SPIRV_TOOLS_INSTALL ON)
  set(SPIRV_WERROR OFF)
  spirloom_add_fetched(spirv-tools)
endblock()

block()
  set(ENABLE_OPT OFF)  # the shader compiler calls the optimizer itself
  set(ENABLE_HLSL OFF)
  set(ENABLE_SPVREMAPPER OFF)
  set(ENABLE_GLSLANG_BINARIES OFF)
  set(GLSLANG_ENABLE_INSTALL OFF)
  set(GLSLANG_TESTS OFF)
  set(BUILD_EXTERNAL OFF)
  spirloom_add_fetched(glslang)
endblock()
# Installed, the headers of its directory SPIRV are in glslang/SPIRV.
spirloom_fetch(glslang)
set(headers "${PROJECT_BINARY_DIR}/fetched-headers")
file(MAKE_DIRECTORY "${headers}/glslang")
foreach(part IN ITEMS SPIRV Public Include)
  set(source "${glslang_SOURCE_DIR}/glslang/${part}")
  if(part STREQUAL SPIRV)
    set(source "${glslang_SOURCE_DIR}/SPIRV")
  endif()
  file(CREATE_LINK "${source}" "${headers}/glslang/${part}" SYMBOLIC)
endforeach()
target_include_directories(glslang SYSTEM INTERFACE "$<BUILD_INTERFACE:${headers}>")
