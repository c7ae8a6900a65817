# spirloom_add_op_tests(): a program with the test cases of the specs of a shader library.
include_guard(GLOBAL)

# spirloom_add_op_tests(NAME LIBRARY [EXTRA_LIBRARIES library...] [FACTS N])
#
# Builds the program NAME with a GoogleTest for each variant and test case of the operators of
# LIBRARY, a target of spirloom_add_shader_library(). The references of the specs compute the
# expected results at build time; the program does not require Python. EXTRA_LIBRARIES provide other
# operators that cases require: spirloom::shaders_all contains the copies to textures. FACTS: random
# calls in which the facts that a spec declares are compared with its reference (spirloom cases).
function(spirloom_add_op_tests name library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "FACTS" "EXTRA_LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "spirloom_add_op_tests(${name}): unexpected arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET GTest::gtest)  # not found yet if Spirloom is a subproject
    spirloom_find(GTest libgtest-dev GTest::gtest)
  endif()
  set(cases "${CMAKE_CURRENT_BINARY_DIR}/${name}.slcases")
  _spirloom_add_op_cases(${name} ${library} "${cases}" "${arg_FACTS}")

  set(SPIRLOOM_DECLARATIONS "")
  set(functions "")
  foreach(target IN LISTS library arg_EXTRA_LIBRARIES)
    get_target_property(function ${target} SPIRLOOM_FUNCTION)
    string(APPEND SPIRLOOM_DECLARATIONS "const ShaderLibrary& ${function}();\n")
    list(APPEND functions "&spirloom::${function}()")
  endforeach()
  list(JOIN functions ", " SPIRLOOM_LIBRARIES)
  set(SPIRLOOM_CASES "${cases}")
  set(main "${CMAKE_CURRENT_BINARY_DIR}/${name}_main.cpp")
  configure_file("${SPIRLOOM_ROOT}/tests/ops/main.cpp.in" "${main}" @ONLY)

  _spirloom_add_op_runner()
  add_executable(${name} "${main}")
  target_link_libraries(${name} PRIVATE
    spirloom_op_runner ${library} ${arg_EXTRA_LIBRARIES} spirloom_warnings)
  add_dependencies(${name} ${name}_cases)
endfunction()

# Defines spirloom_op_runner, the shared library code of these programs.
function(_spirloom_add_op_runner)
  if(TARGET spirloom_op_runner)
    return()
  endif()
  add_library(spirloom_op_runner STATIC)
  foreach(source IN ITEMS
          case_data case_file case_runner compare guarded_memory guarded_runner op_tests)
    target_sources(spirloom_op_runner PRIVATE "${SPIRLOOM_ROOT}/tests/ops/${source}.cpp")
  endforeach()
  target_sources(spirloom_op_runner PRIVATE "${SPIRLOOM_ROOT}/tools/races/tensor_memory.cpp")
  target_include_directories(spirloom_op_runner PUBLIC "${SPIRLOOM_ROOT}")
  target_link_libraries(spirloom_op_runner
    PUBLIC $<IF:$<TARGET_EXISTS:spirloom_internals>,spirloom_internals,spirloom_runtime>
           spirloom_graph_schema Vulkan::Headers GTest::gtest
    PRIVATE spirloom_warnings)
endfunction()

# Defines the target NAME_cases, which generates the case packs of a library. The depfile lists
# further dependencies. Changing a spec regenerates only the pack of its operator.
function(_spirloom_add_op_cases name library cases facts)
  set(spirloom "${SPIRLOOM_ROOT}/.venv/bin/spirloom")
  set(inputs "${SPIRLOOM_ROOT}/schema/cases.fbs" "${SPIRLOOM_ROOT}/schema/graph.fbs")
  if(TARGET spirloom_venv)
    list(APPEND inputs spirloom_venv)
  elseif(NOT EXISTS "${spirloom}")
    message(FATAL_ERROR "spirloom_add_op_tests(${name}): ${spirloom} does not exist. Build it once, "
                        "in ${SPIRLOOM_ROOT}: cmake --preset release && "
                        "cmake --build --preset release --target spirloom_venv")
  endif()
  get_target_property(spec_dirs ${library} SPIRLOOM_SPEC_DIRS)
  get_target_property(template_dirs ${library} SPIRLOOM_TEMPLATE_DIRS)
  set(flags "")
  if(NOT facts STREQUAL "")
    list(APPEND flags --facts "${facts}")
  endif()
  foreach(kind IN ITEMS spec template)
    foreach(dir IN LISTS ${kind}_dirs)
      list(APPEND flags --${kind}-dir "${dir}")
      list(APPEND inputs "${dir}")
    endforeach()
  endforeach()
  add_custom_command(
    OUTPUT "${cases}"
    COMMAND "${spirloom}" cases ${flags} --out "${cases}" --depfile "${cases}.d"
            --cache "${CMAKE_CURRENT_BINARY_DIR}/${name}_packs"
    DEPENDS ${inputs}
    DEPFILE "${cases}.d"
    COMMENT "Generating test cases of ${library}"
    VERBATIM)
  add_custom_target(${name}_cases DEPENDS "${cases}")
endfunction()
