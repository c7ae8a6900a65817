# spirloom_add_shader_library(): builds a library of compiled shaders from operator specs.
include_guard(GLOBAL)
cmake_policy(VERSION 3.25)  # also in scripts
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomEmbed.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomExports.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomSelection.cmake")

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH spirloom_root)
set(SPIRLOOM_ROOT "${spirloom_root}" CACHE INTERNAL "Directory of codegen, specs and templates")
set(SPIRLOOM_SPEC_DIR "${spirloom_root}/op_specs" CACHE INTERNAL "Spirloom's operator specs")
set(SPIRLOOM_SHADER_CACHE "" CACHE PATH
  "Cache directory of compiled shaders, shared by builds; empty: in the build directory")

# spirloom_add_shader_library(NAME
#   [FUNCTION name]            function that returns the library (default: AllShaders)
#   [LIBRARY name]             its name in messages (default: NAME)
#   [OPS name...]              operators to keep: full or short names, kernels, variants, globs
#   [OPS_YAML file...]         files that list operators, each with optional dtypes and storages
#   [MODELS file...]           .slg, .onnx or .pte files whose operators to keep
#   [DTYPES dtype...]          only kernels with these dtypes
#   [STORAGES storage...]      only kernels with these storages
#   [SPEC_DIRS dir...]         directories of operator specs (*.yaml) (default: SPIRLOOM_SPEC_DIR)
#   [TEMPLATE_DIRS dir...]     directories of templates, searched before Spirloom's, last one first
#   [TEST_KERNELS]             only operators with `test_only` kernels, including these kernels
#   [OVERRIDE]                 its operators replace those of the same name in other libraries
#   [COMPRESS]                 compress the modules; programs decompress a module at its first use
#   [PACK_ONLY]                build only the file, for programs that open it at run time
#   [OUT dir]                  output directory (default: <binary dir>/NAME)
#   [SELECTOR_PREFIX prefix])  prefix of selector names in messages
#
# Builds the library NAME, static unless BUILD_SHARED_LIBS. A program that links it passes
# `spirloom::FUNCTION()`, in C `spirloom_FUNCTION()`, to a new runtime. It embeds the file
# OUT/shaders.slpack, the target property SPIRLOOM_PACK. With PACK_ONLY, NAME only builds this file,
# which programs that link spirloom::runtime can open (`spirloom::ShaderLibrary::Open()`). Without
# selectors, the library contains all operators of the specs (docs/how-to/shrink-the-binary.md).
# Paths are relative to the current source directory.
function(spirloom_add_shader_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPRESS;OVERRIDE;PACK_ONLY;TEST_KERNELS" "FUNCTION;LIBRARY;OUT;SELECTOR_PREFIX"
    "OPS;OPS_YAML;MODELS;DTYPES;STORAGES;SPEC_DIRS;TEMPLATE_DIRS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "spirloom_add_shader_library(${name}): unexpected arguments: "
                        "${arg_UNPARSED_ARGUMENTS}")
  endif()
  # Without selectors, the library contains all operators: an empty list is an error.
  foreach(selector IN ITEMS OPS OPS_YAML MODELS DTYPES STORAGES)
    if(selector IN_LIST arg_KEYWORDS_MISSING_VALUES OR (DEFINED arg_${selector} AND NOT arg_${selector}))
      message(FATAL_ERROR "spirloom_add_shader_library(${name}): ${selector} is empty. Name what to "
                          "keep, or omit ${selector} to keep everything.")
    endif()
  endforeach()
  if(NOT arg_FUNCTION)
    set(arg_FUNCTION AllShaders)
  endif()
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY "${name}")
  endif()
  if(NOT arg_OUT)
    set(arg_OUT "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  endif()
  if(NOT arg_SPEC_DIRS)
    set(arg_SPEC_DIRS "${SPIRLOOM_SPEC_DIR}")
  endif()
  list(PREPEND arg_TEMPLATE_DIRS "${SPIRLOOM_ROOT}/templates/glsl")
  set(override "")
  if(arg_OVERRIDE)
    set(override --override)
  endif()
  set(compress "")
  if(arg_COMPRESS)
    if(NOT SPIRLOOM_ZSTD)
      message(FATAL_ERROR "spirloom_add_shader_library(${name}): COMPRESS requires a runtime with "
                          "zstd. Build Spirloom with -DSPIRLOOM_ZSTD=ON.")
    endif()
    set(compress --compress)
  endif()
  set(debug "")
  if(SPIRLOOM_DEBUG_SHADERS)
    set(debug --debug-shaders "${PROJECT_SOURCE_DIR}")
  endif()
  set(out "${arg_OUT}")
  set(codegen "${SPIRLOOM_PYTHON}" -m codegen)
  _spirloom_shader_inputs(inputs flags "${arg_SPEC_DIRS}" "${arg_TEMPLATE_DIRS}")
  list(APPEND flags --root "${PROJECT_SOURCE_DIR}")
  set(test_kernels "")
  if(arg_TEST_KERNELS)
    set(test_kernels --test-kernels)
  endif()
  if(arg_OPS OR arg_OPS_YAML OR arg_MODELS OR arg_DTYPES OR arg_STORAGES)
    _spirloom_select(${name} "${out}/selection.json" "${flags}" "${arg_SELECTOR_PREFIX}"
      "${arg_OPS}" "${arg_OPS_YAML}" "${arg_MODELS}" "${arg_DTYPES}" "${arg_STORAGES}")
    list(APPEND inputs "${out}/selection.json")
    list(APPEND flags --selection "${out}/selection.json")
  endif()

  add_custom_command(
    OUTPUT "${out}/manifest.json" "${out}/registry.bin" "${out}/executorch.bin"
           "${out}/glsl.digest" "${out}/operators.json"
    COMMAND ${codegen} generate ${flags} --out "${out}" --library "${arg_LIBRARY}"
            ${override} ${test_kernels} --depfile "${out}/codegen.d" --state "${out}/codegen.state"
    DEPENDS ${inputs}
    DEPFILE "${out}/codegen.d"
    WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
    COMMENT "Generating shaders of ${arg_LIBRARY}"
    VERBATIM)

  # Without this target, Ninja would generate only after the shader compiler is built.
  add_custom_target(${name}_manifest DEPENDS "${out}/manifest.json")

  set(shader_cache "${SPIRLOOM_SHADER_CACHE}")
  if(NOT shader_cache)
    set(shader_cache "${PROJECT_BINARY_DIR}/shader-cache")
  endif()
  add_custom_command(
    OUTPUT "${out}/shaders.slpack"
    COMMAND spirloom-shaderc --manifest "${out}/manifest.json" --output "${out}/shaders.slpack"
            --cache-dir "${shader_cache}" ${compress} ${debug}
    DEPENDS spirloom-shaderc "${out}/manifest.json" "${out}/registry.bin" "${out}/glsl.digest"
    COMMENT "Compiling shaders of ${arg_LIBRARY}"
    VERBATIM)

  if(arg_PACK_ONLY)
    add_custom_target(${name} ALL DEPENDS "${out}/shaders.slpack")
    set_target_properties(${name} PROPERTIES SPIRLOOM_PACK "${out}/shaders.slpack")
    add_dependencies(${name} ${name}_manifest)
    return()
  endif()
  set(SPIRLOOM_FUNCTION "${arg_FUNCTION}")
  set(SPIRLOOM_LIBRARY "${arg_LIBRARY}")
  configure_file("${SPIRLOOM_ROOT}/cmake/library.cpp.in" "${out}/library.cpp" @ONLY)
  add_library(${name} "${out}/library.cpp")
  # Also for a static library, which may be linked into a shared one.
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON SPIRLOOM_PACK "${out}/shaders.slpack")
  spirloom_embed_pack(${name} "${out}/shaders.slpack" SYMBOL spirloom_pack_${arg_FUNCTION})
  _spirloom_describe_library(${name} "${arg_FUNCTION}" "${arg_SPEC_DIRS}" "${arg_TEMPLATE_DIRS}")
  target_link_libraries(${name}
    PUBLIC spirloom::runtime PRIVATE $<TARGET_NAME_IF_EXISTS:spirloom_warnings>)
  spirloom_export_api(${name})
  add_dependencies(${name} ${name}_manifest)
endfunction()

# Sets the properties of a library that spirloom_add_op_tests() reads.
function(_spirloom_describe_library name function spec_dirs template_dirs)
  foreach(kind IN ITEMS spec template)
    set(${kind}_paths "")
    foreach(dir IN LISTS ${kind}_dirs)
      file(REAL_PATH "${dir}" dir)
      list(APPEND ${kind}_paths "${dir}")
    endforeach()
  endforeach()
  set_target_properties(${name} PROPERTIES
    SPIRLOOM_FUNCTION "${function}"
    SPIRLOOM_SPEC_DIRS "${spec_paths}"
    SPIRLOOM_TEMPLATE_DIRS "${template_paths}"
    EXPORT_PROPERTIES SPIRLOOM_FUNCTION)
endfunction()

# Returns the known inputs of the code generator (its depfile lists the others) and its directory
# options. Directories are inputs, because their modification time changes with new files.
function(_spirloom_shader_inputs inputs_out flags_out spec_dirs template_dirs)
  file(GLOB_RECURSE inputs "${SPIRLOOM_ROOT}/codegen/*.py" "${SPIRLOOM_ROOT}/spec_model/*.py"
    "${SPIRLOOM_ROOT}/spec_model/*.inc")
  set(flags "")
  foreach(dir IN LISTS spec_dirs)
    file(REAL_PATH "${dir}" dir)
    list(APPEND inputs "${dir}")
    list(APPEND flags --spec-dir "${dir}")
  endforeach()
  foreach(dir IN LISTS template_dirs)
    file(REAL_PATH "${dir}" dir)
    list(APPEND inputs "${dir}")
    list(APPEND flags --template-dir "${dir}")
  endforeach()
  set(${inputs_out} "${inputs}" PARENT_SCOPE)
  set(${flags_out} "${flags}" PARENT_SCOPE)
endfunction()
