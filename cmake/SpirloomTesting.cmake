# Enables testing in a top-level build. Tests use a cache directory in the build tree, not the
# user's. Defines spirloom_build_on_demand().
include_guard(GLOBAL)

if(SPIRLOOM_TESTS)
  enable_testing()
  set(SPIRLOOM_TEST_ENVIRONMENT "${PROJECT_BINARY_DIR}/test_environment.cmake")
  file(CONFIGURE OUTPUT "${SPIRLOOM_TEST_ENVIRONMENT}" @ONLY CONTENT [[
set(ENV{XDG_CACHE_HOME} "@PROJECT_BINARY_DIR@/test-cache")
# Drivers and layers leak memory, and are unloaded before the leaks can be attributed to them.
set(ENV{ASAN_OPTIONS} "detect_leaks=0")
]])
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
    TEST_INCLUDE_FILES "${SPIRLOOM_TEST_ENVIRONMENT}")
endif()

# spirloom_build_on_demand(NAME TARGETS target... TESTS test...): the test NAME builds the targets,
# and runs before these tests. The targets are not part of `all`: `./dev test` leaves out most of
# such tests in most runs (tests/plan/suites.yaml). The target spirloom_tests_on_demand builds all.
function(spirloom_build_on_demand name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "TARGETS;TESTS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_TARGETS OR NOT arg_TESTS)
    message(FATAL_ERROR "spirloom_build_on_demand(${name}): expected TARGETS target... TESTS test...")
  endif()
  if(NOT TARGET spirloom_tests_on_demand)
    add_custom_target(spirloom_tests_on_demand)
  endif()
  add_dependencies(spirloom_tests_on_demand ${arg_TARGETS})
  set_target_properties(${arg_TARGETS} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}"
    --config $<CONFIG> --target ${arg_TARGETS})
  # One at a time: they build in the same directory.
  set_tests_properties(${name} PROPERTIES
    LABELS unit TIMEOUT 1800 FIXTURES_SETUP ${name} RESOURCE_LOCK build_tree)
  set_property(TEST ${arg_TESTS} APPEND PROPERTY FIXTURES_REQUIRED ${name})
endfunction()
