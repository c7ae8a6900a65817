# spirloom_add_op_tests(): a program that runs the test cases of a shader library's specs.
include_guard(GLOBAL)

# spirloom_add_op_tests(NAME LIBRARY [BESIDE library...])
#
# Makes the program NAME: a GoogleTest for every variant and test case of the operators that LIBRARY,
# a target of spirloom_add_shader_library(), was made from. The expected results come from the specs'
# references, at build time; the program needs no Python. The libraries BESIDE it are there for
# operators that running a case may take: with spirloom::shaders_all, copies into textures.
function(spirloom_add_op_tests name library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "BESIDE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "spirloom_add_op_tests(${name}): unexpected arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET GTest::gtest)  # a project that takes Spirloom in builds none of its tests
    spirloom_find(GTest libgtest-dev GTest::gtest)
  endif()
  set(cases "${CMAKE_CURRENT_BINARY_DIR}/${name}.slcases")
  _spirloom_add_op_cases(${name} ${library} "${cases}")

  set(SPIRLOOM_DECLARATIONS "")
  set(functions "")
  foreach(target IN LISTS library arg_BESIDE)
    get_target_property(function ${target} SPIRLOOM_FUNCTION)
    string(APPEND SPIRLOOM_DECLARATIONS "const ShaderLibrary& ${function}();\n")
    list(APPEND functions "&spirloom::${function}()")
  endforeach()
  list(JOIN functions ", " SPIRLOOM_LIBRARIES)
  set(SPIRLOOM_CASES "${cases}")
  set(main "${CMAKE_CURRENT_BINARY_DIR}/${name}_main.cpp")
  configure_file("${SPIRLOOM_ROOT}/tests/ops/main.cpp.in" "${main}" @ONLY)

  add_executable(${name} "${main}")
  foreach(source IN ITEMS
          case_data case_file case_runner compare guarded_memory guarded_runner op_tests)
    target_sources(${name} PRIVATE "${SPIRLOOM_ROOT}/tests/ops/${source}.cpp")
  endforeach()
  target_include_directories(${name} PRIVATE "${SPIRLOOM_ROOT}")
  target_link_libraries(${name} PRIVATE
    ${library} ${arg_BESIDE} spirloom_runtime spirloom_graph_schema Vulkan::Headers GTest::gtest
    spirloom_warnings)
  add_dependencies(${name} ${name}_cases)
endfunction()

# The case pack of a library's specs, and the target NAME_cases that makes it.
function(_spirloom_add_op_cases name library cases)
  set(spirloom "${SPIRLOOM_ROOT}/.venv/bin/spirloom")
  file(GLOB inputs
    "${SPIRLOOM_ROOT}/codegen/*.py" "${SPIRLOOM_ROOT}/codegen/*/*.py"
    "${SPIRLOOM_ROOT}/frontend/spirloom/casegen/*.py")
  list(APPEND inputs "${SPIRLOOM_ROOT}/frontend/spirloom/graph_file.py"
    "${SPIRLOOM_ROOT}/schema/cases.fbs" "${SPIRLOOM_ROOT}/schema/graph.fbs")
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
  set(folders ${spec_dirs})
  foreach(dir IN LISTS spec_dirs)
    list(APPEND flags --spec-dir "${dir}")
    if(IS_DIRECTORY "${dir}/reference")
      list(APPEND folders "${dir}/reference")
    endif()
  endforeach()
  foreach(dir IN LISTS template_dirs)
    list(APPEND flags --template-dir "${dir}")
    file(GLOB_RECURSE files "${dir}/*.yaml")
    list(APPEND inputs ${files})
  endforeach()
  # A file that appears or vanishes changes its folder's time, and so configures again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folders})
  foreach(dir IN LISTS folders)
    file(GLOB files "${dir}/*.yaml" "${dir}/*.py")
    list(APPEND inputs "${dir}" ${files})
  endforeach()
  add_custom_command(
    OUTPUT "${cases}"
    COMMAND "${spirloom}" cases ${flags} --out "${cases}"
    DEPENDS ${inputs}
    COMMENT "Making test cases of ${library}"
    VERBATIM)
  add_custom_target(${name}_cases DEPENDS "${cases}")
endfunction()
