# spirloom_add_shader_library(): from operator specs to a static library with the compiled shaders.
include_guard(GLOBAL)
include(SpirloomEmbed)

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH spirloom_root)
set(SPIRLOOM_ROOT "${spirloom_root}" CACHE INTERNAL "Spirloom's source folder")

# spirloom_add_shader_library(NAME
#   [FUNCTION name]        C++ function that returns the library; `AllShaders` unless given
#   [LIBRARY name]         its name in messages; NAME unless given
#   [OUT dir]              where its products go; <binary dir>/NAME unless given
#   SPEC_DIRS dir...       folders of operator specs (*.yaml)
#   TEMPLATE_DIRS dir...)  folders of templates; later ones are searched first
#
# Makes the static library NAME. A program that links it names `spirloom::FUNCTION()` when it
# creates a runtime.
function(spirloom_add_shader_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FUNCTION;LIBRARY;OUT" "SPEC_DIRS;TEMPLATE_DIRS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SPEC_DIRS OR NOT arg_TEMPLATE_DIRS)
    message(FATAL_ERROR "spirloom_add_shader_library(${name}): needs SPEC_DIRS and TEMPLATE_DIRS; "
                        "unexpected arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_FUNCTION)
    set(arg_FUNCTION AllShaders)
  endif()
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY "${name}")
  endif()
  if(NOT arg_OUT)
    set(arg_OUT "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  endif()
  set(out "${arg_OUT}")
  set(codegen "${SPIRLOOM_PYTHON}" -m codegen)
  _spirloom_shader_inputs(inputs flags "${arg_SPEC_DIRS}" "${arg_TEMPLATE_DIRS}")
  _spirloom_shader_sources(sources "${out}" "${arg_SPEC_DIRS}")

  add_custom_command(
    OUTPUT "${out}/manifest.json" ${sources}
    BYPRODUCTS "${out}/glsl.digest"
    COMMAND ${codegen} generate ${flags} --root "${PROJECT_SOURCE_DIR}" --out "${out}" --library "${arg_LIBRARY}"
            --function "${arg_FUNCTION}" --root "${PROJECT_SOURCE_DIR}" --depfile "${out}/codegen.d"
    DEPENDS ${inputs}
    DEPFILE "${out}/codegen.d"
    WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
    COMMENT "Generating shaders of ${arg_LIBRARY}"
    VERBATIM)

  add_custom_command(
    OUTPUT "${out}/shaders.slpack"
    COMMAND spirloom-shaderc --manifest "${out}/manifest.json" --output "${out}/shaders.slpack"
            --cache-dir "${PROJECT_BINARY_DIR}/shader-cache"
    DEPENDS spirloom-shaderc "${out}/manifest.json" "${out}/glsl.digest"
    COMMENT "Compiling shaders of ${arg_LIBRARY}"
    VERBATIM)

  add_library(${name} STATIC ${sources})
  spirloom_embed_pack(${name} "${out}/shaders.slpack" SYMBOL spirloom_pack_${arg_FUNCTION})
  target_include_directories(${name} PRIVATE "${SPIRLOOM_ROOT}")
  target_link_libraries(${name} PUBLIC spirloom_runtime PRIVATE spirloom_warnings)
endfunction()

# What the generator reads, as far as configuration knows it (its depfile names the rest), and its
# folder flags. A folder stands for the files that may come to be in it: its time changes with them.
function(_spirloom_shader_inputs inputs_out flags_out spec_dirs template_dirs)
  file(GLOB inputs "${SPIRLOOM_ROOT}/codegen/*.py" "${SPIRLOOM_ROOT}/codegen/*/*.py"
       "${SPIRLOOM_ROOT}/templates/cpp/*.j2")
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

# The C++ files the generator writes: one per spec, named after it, and the library's table. A spec
# that appears or vanishes configures again; a check by glob at every build would write to its log.
function(_spirloom_shader_sources sources_out out spec_dirs)
  set(sources "${out}/cpp/library.cpp")
  foreach(dir IN LISTS spec_dirs)
    file(REAL_PATH "${dir}" dir)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dir}")
    file(GLOB files "${dir}/*.yaml")
    foreach(file IN LISTS files)
      cmake_path(GET file STEM LAST_ONLY stem)
      list(APPEND sources "${out}/cpp/ops/${stem}.cpp")
    endforeach()
  endforeach()
  set(${sources_out} "${sources}" PARENT_SCOPE)
endfunction()
