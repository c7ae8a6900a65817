# The libraries that programs of the runtime link, built from source archives
# (SPIRLOOM_FETCH_DEPENDENCIES): for targets of which Debian has no packages, and for binaries that
# require no newer C library than the compiler's.
#
# Targets: zstd::zstd utf8proc::utf8proc PCRE2::8Bit.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomArchives.cmake")

# An existing shader compiler compresses: then the decoder is enough.
spirloom_fetch(zstd)
file(GLOB sources "${zstd_SOURCE_DIR}/lib/common/*.c" "${zstd_SOURCE_DIR}/lib/decompress/*.c")
if(NOT SPIRLOOM_SHADERC)
  file(GLOB encoder "${zstd_SOURCE_DIR}/lib/compress/*.c")
  list(APPEND sources ${encoder})
endif()
add_library(spirloom_fetched_zstd STATIC EXCLUDE_FROM_ALL ${sources})
target_compile_definitions(spirloom_fetched_zstd PRIVATE ZSTD_DISABLE_ASM)
target_include_directories(spirloom_fetched_zstd SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${zstd_SOURCE_DIR}/lib>")
add_library(zstd::zstd INTERFACE IMPORTED GLOBAL)
target_link_libraries(zstd::zstd INTERFACE spirloom_fetched_zstd)

spirloom_fetch(utf8proc)
add_library(spirloom_fetched_utf8proc STATIC EXCLUDE_FROM_ALL "${utf8proc_SOURCE_DIR}/utf8proc.c")
target_compile_definitions(spirloom_fetched_utf8proc PUBLIC UTF8PROC_STATIC)
target_include_directories(spirloom_fetched_utf8proc SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${utf8proc_SOURCE_DIR}>")
add_library(utf8proc::utf8proc INTERFACE IMPORTED GLOBAL)
target_link_libraries(utf8proc::utf8proc INTERFACE spirloom_fetched_utf8proc)

spirloom_fetch(pcre2)
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
add_library(spirloom_fetched_pcre2 STATIC EXCLUDE_FROM_ALL ${sources})
target_compile_definitions(spirloom_fetched_pcre2
  PUBLIC PCRE2_STATIC
  PRIVATE HAVE_CONFIG_H PCRE2_CODE_UNIT_WIDTH=8 SUPPORT_PCRE2_8 SUPPORT_UNICODE SUPPORT_JIT)
target_include_directories(spirloom_fetched_pcre2
  PRIVATE "${pcre2_SOURCE_DIR}/src"
  PUBLIC "$<BUILD_INTERFACE:${generated}>")
add_library(PCRE2::8Bit INTERFACE IMPORTED GLOBAL)
target_link_libraries(PCRE2::8Bit INTERFACE spirloom_fetched_pcre2)

set_target_properties(spirloom_fetched_zstd spirloom_fetched_utf8proc spirloom_fetched_pcre2
  PROPERTIES COMPILE_WARNING_AS_ERROR OFF UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
