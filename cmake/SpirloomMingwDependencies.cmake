# Dependencies of builds with MinGW on Linux. Headers come from the packages of the build host, one
# by one, because /usr/include itself contains the C library's headers. Debian has no MinGW builds of
# zstd, PCRE2 and utf8proc: with SPIRLOOM_FETCH_DEPENDENCIES they are built from the source archives
# of Debian 12; otherwise there are no compressed shaders and no language models.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomFind.cmake")
include(FetchContent)

option(SPIRLOOM_FETCH_DEPENDENCIES
  "Build zstd, PCRE2 and utf8proc from Debian's source archives" OFF)

# spirloom_link_headers(TARGET PACKAGE ENTRY...): defines an imported target with the named files or
# directories of /usr/include.
function(spirloom_link_headers target package)
  string(MAKE_C_IDENTIFIER "${target}" name)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/host-headers/${name}")
  foreach(entry IN LISTS ARGN)
    find_path(SPIRLOOM_HOST_${entry} ${entry} PATHS /usr/include NO_DEFAULT_PATH)
    mark_as_advanced(SPIRLOOM_HOST_${entry})
    spirloom_require(SPIRLOOM_HOST_${entry} ${entry} ${package})
    file(MAKE_DIRECTORY "${directory}")
    file(CREATE_LINK "${SPIRLOOM_HOST_${entry}}/${entry}" "${directory}/${entry}" SYMBOLIC)
  endforeach()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${directory}")
endfunction()

# spirloom_fetch(NAME PATH SHA256): downloads and unpacks an archive of Debian's pool into
# NAME_SOURCE_DIR, without adding its CMake project.
function(spirloom_fetch name path hash)
  if(ARGN)
    message(FATAL_ERROR "spirloom_fetch(${name}): unexpected arguments: ${ARGN}")
  endif()
  FetchContent_Declare(${name}
    URL "https://deb.debian.org/debian/pool/main/${path}"
        "http://deb.debian.org/debian/pool/main/${path}"
    URL_HASH SHA256=${hash}
    DOWNLOAD_EXTRACT_TIMESTAMP OFF
    SOURCE_SUBDIR no-project)
  FetchContent_MakeAvailable(${name})
  set(${name}_SOURCE_DIR "${${name}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

spirloom_link_headers(Vulkan::Headers libvulkan-dev vulkan vk_video)
spirloom_link_headers(xxHash::xxhash libxxhash-dev xxhash.h)
spirloom_link_headers(flatbuffers::flatbuffers libflatbuffers-dev flatbuffers)
spirloom_link_headers(nlohmann_json::nlohmann_json nlohmann-json3-dev nlohmann)
spirloom_link_headers(CLI11::CLI11 libcli11-dev CLI)

if(NOT SPIRLOOM_FETCH_DEPENDENCIES)
  return()
endif()

# The decoder only: the shader compiler of the build host compresses.
spirloom_fetch(zstd libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz
  8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953)
file(GLOB sources "${zstd_SOURCE_DIR}/lib/common/*.c" "${zstd_SOURCE_DIR}/lib/decompress/*.c")
add_library(spirloom_fetched_zstd STATIC ${sources})
target_compile_definitions(spirloom_fetched_zstd PRIVATE ZSTD_DISABLE_ASM)
target_include_directories(spirloom_fetched_zstd SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${zstd_SOURCE_DIR}/lib>")
add_library(zstd::zstd INTERFACE IMPORTED GLOBAL)
target_link_libraries(zstd::zstd INTERFACE spirloom_fetched_zstd)

spirloom_fetch(utf8proc u/utf8proc/utf8proc_2.8.0.orig.tar.gz
  a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc)
add_library(spirloom_fetched_utf8proc STATIC "${utf8proc_SOURCE_DIR}/utf8proc.c")
target_compile_definitions(spirloom_fetched_utf8proc PUBLIC UTF8PROC_STATIC)
target_include_directories(spirloom_fetched_utf8proc SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${utf8proc_SOURCE_DIR}>")
add_library(utf8proc::utf8proc INTERFACE IMPORTED GLOBAL)
target_link_libraries(utf8proc::utf8proc INTERFACE spirloom_fetched_utf8proc)

spirloom_fetch(pcre2 p/pcre2/pcre2_10.42.orig.tar.gz
  c33b418e3b936ee3153de2c61cc638e7e4fe3156022a5c77d0711bcbb9d64f1f)
# As PCRE2's NON-AUTOTOOLS-BUILD describes.
set(generated "${CMAKE_CURRENT_BINARY_DIR}/pcre2")
configure_file("${pcre2_SOURCE_DIR}/src/config.h.generic" "${generated}/config.h" COPYONLY)
configure_file("${pcre2_SOURCE_DIR}/src/pcre2.h.generic" "${generated}/pcre2.h" COPYONLY)
configure_file("${pcre2_SOURCE_DIR}/src/pcre2_chartables.c.dist"
  "${generated}/pcre2_chartables.c" COPYONLY)
set(sources "${generated}/pcre2_chartables.c")
foreach(part IN ITEMS auto_possess compile config context convert dfa_match error extuni
    find_bracket jit_compile maketables match match_data newline ord2utf pattern_info script_run
    serialize string_utils study substitute substring tables ucd valid_utf xclass)
  list(APPEND sources "${pcre2_SOURCE_DIR}/src/pcre2_${part}.c")
endforeach()
add_library(spirloom_fetched_pcre2 STATIC ${sources})
target_compile_definitions(spirloom_fetched_pcre2
  PUBLIC PCRE2_STATIC
  PRIVATE HAVE_CONFIG_H PCRE2_CODE_UNIT_WIDTH=8 SUPPORT_PCRE2_8 SUPPORT_UNICODE SUPPORT_JIT)
target_include_directories(spirloom_fetched_pcre2
  PRIVATE "${pcre2_SOURCE_DIR}/src"
  PUBLIC "$<BUILD_INTERFACE:${generated}>")
add_library(PCRE2::8Bit INTERFACE IMPORTED GLOBAL)
target_link_libraries(PCRE2::8Bit INTERFACE spirloom_fetched_pcre2)

set_target_properties(spirloom_fetched_zstd spirloom_fetched_utf8proc spirloom_fetched_pcre2
  PROPERTIES COMPILE_WARNING_AS_ERROR OFF POSITION_INDEPENDENT_CODE ON)
