# Dependencies of language models. SPIRLOOM_LLM is true if all are found. They are optional, because
# the runtime does not require them.
#
# Targets: PCRE2::8Bit utf8proc::utf8proc.
include_guard(GLOBAL)

# spirloom_find_optional_library(TARGET HEADER LIBRARY PACKAGE): defines an imported target, or
# prints the name of the Debian package.
function(spirloom_find_optional_library target header library package)
  if(ARGN)
    message(FATAL_ERROR "spirloom_find_optional_library: unexpected arguments: ${ARGN}")
  endif()
  if(TARGET ${target})
    return()
  endif()
  cmake_path(GET header STEM stem)
  find_path(SPIRLOOM_${stem}_INCLUDE ${header})
  find_library(SPIRLOOM_${stem}_LIBRARY ${library})
  mark_as_advanced(SPIRLOOM_${stem}_INCLUDE SPIRLOOM_${stem}_LIBRARY)
  if(NOT SPIRLOOM_${stem}_INCLUDE OR NOT SPIRLOOM_${stem}_LIBRARY)
    message(STATUS "Language models are not available: ${header} was not found. On Debian and "
                   "Ubuntu: apt-get install ${package}")
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${SPIRLOOM_${stem}_INCLUDE}")
  target_link_libraries(${target} INTERFACE "${SPIRLOOM_${stem}_LIBRARY}")
endfunction()

spirloom_find_optional_library(PCRE2::8Bit pcre2.h pcre2-8 libpcre2-dev)
spirloom_find_optional_library(utf8proc::utf8proc utf8proc.h utf8proc libutf8proc-dev)
set(SPIRLOOM_LLM FALSE)
# 10.40 is the first version with \p{White_Space}.
set(pcre2_version 10.40)
if(SPIRLOOM_pcre2_INCLUDE)
  file(STRINGS "${SPIRLOOM_pcre2_INCLUDE}/pcre2.h" pcre2_lines REGEX "define PCRE2_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" pcre2_version
         "${pcre2_lines}")
endif()
if(pcre2_version VERSION_LESS 10.40)
  message(STATUS "spirloom-llm is not built: PCRE2 ${pcre2_version} was found, but 10.40 is required")
elseif(TARGET PCRE2::8Bit AND TARGET utf8proc::utf8proc)
  set(SPIRLOOM_LLM TRUE)
endif()
