# spirloom_embed_pack(): embeds a shader pack in a target as constant bytes.
include_guard(GLOBAL)

set(SPIRLOOM_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_as_array.cmake" CACHE INTERNAL "")
set(SPIRLOOM_EMBED_ASSEMBLY "${CMAKE_CURRENT_LIST_DIR}/embed.S.in" CACHE INTERNAL "")

# spirloom_embed_pack(TARGET PACK SYMBOL name [ARRAY])
#
# Adds an object to TARGET with the bytes of the file PACK, 64-byte aligned and read-only, as
#   extern "C" const unsigned char SYMBOL[];
#   extern "C" const uint64_t SYMBOL_size;
# The target is rebuilt when the file changes. A custom command that generates PACK must belong to
# the directory of TARGET. The bytes are included with .incbin. Without a GNU-style assembler, or
# with ARRAY, they are compiled as a generated array, which is slower.
function(spirloom_embed_pack target pack)
  cmake_parse_arguments(PARSE_ARGV 2 arg "ARRAY" "SYMBOL" "")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SYMBOL)
    message(FATAL_ERROR "spirloom_embed_pack(${target}): SYMBOL is required; "
                        "unexpected arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  cmake_path(ABSOLUTE_PATH pack BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/${target}-embed/${arg_SYMBOL}")
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("ASM" IN_LIST languages AND NOT MSVC AND NOT arg_ARRAY)
    set(SPIRLOOM_SYMBOL "${arg_SYMBOL}")
    set(SPIRLOOM_PACK "${pack}")
    configure_file("${SPIRLOOM_EMBED_ASSEMBLY}" "${stem}.S" @ONLY)
    set(source "${stem}.S")
    set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${pack}")
  else()
    set(source "${stem}.cpp")
    add_custom_command(
      OUTPUT "${source}"
      COMMAND "${CMAKE_COMMAND}" "-DINPUT=${pack}" "-DOUTPUT=${source}" "-DSYMBOL=${arg_SYMBOL}"
              -P "${SPIRLOOM_EMBED_SCRIPT}"
      DEPENDS "${pack}" "${SPIRLOOM_EMBED_SCRIPT}"
      COMMENT "Embedding ${arg_SYMBOL} as an array"
      VERBATIM)
  endif()
  target_sources(${target} PRIVATE "${source}")
endfunction()
