# Third-party headers of the build host, for cross-compiling (SPIRLOOM_HOST_HEADERS). They are linked
# into a directory of the build, because the directory that contains them, /usr/include, also contains
# the C library of the host. Includes in SpirloomDependencies.cmake find the targets that exist.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomFind.cmake")

# spirloom_link_headers(TARGET HEADER PACKAGE NAME...): finds HEADER on the build host, and defines an
# imported target for the files or directories NAME next to it.
function(spirloom_link_headers target header package)
  cmake_path(GET header STEM stem)
  find_path(SPIRLOOM_HOST_${stem} ${header}
    PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH)
  mark_as_advanced(SPIRLOOM_HOST_${stem})
  spirloom_require(SPIRLOOM_HOST_${stem} ${header} ${package})
  set(directory "${PROJECT_BINARY_DIR}/host-headers/${stem}")
  file(MAKE_DIRECTORY "${directory}")
  foreach(name IN LISTS ARGN)
    file(CREATE_LINK "${SPIRLOOM_HOST_${stem}}/${name}" "${directory}/${name}" SYMBOLIC)
  endforeach()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${directory}")
endfunction()

spirloom_link_headers(Vulkan::Headers vulkan/vulkan.h libvulkan-dev vulkan vk_video)
spirloom_link_headers(xxHash::xxhash xxhash.h libxxhash-dev xxhash.h)
spirloom_link_headers(flatbuffers::flatbuffers flatbuffers/flatbuffers.h libflatbuffers-dev
  flatbuffers)
spirloom_link_headers(nlohmann_json::nlohmann_json nlohmann/json.hpp nlohmann-json3-dev nlohmann)
spirloom_link_headers(CLI11::CLI11 CLI/CLI.hpp libcli11-dev CLI)
