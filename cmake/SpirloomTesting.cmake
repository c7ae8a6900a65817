# Turns testing on for a top-level build. Tests get a cache folder of their own inside the build
# tree, so that they neither see nor fill the user's.
include_guard(GLOBAL)

if(SPIRLOOM_TESTS)
  enable_testing()
  include(GoogleTest)
  set(SPIRLOOM_TEST_ENVIRONMENT "${PROJECT_BINARY_DIR}/test_environment.cmake")
  file(CONFIGURE OUTPUT "${SPIRLOOM_TEST_ENVIRONMENT}" @ONLY CONTENT [[
set(ENV{XDG_CACHE_HOME} "@PROJECT_BINARY_DIR@/test-cache")
# Drivers and layers leak on their own, and are unloaded before they could be told from us.
set(ENV{ASAN_OPTIONS} "detect_leaks=0")
]])
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
    TEST_INCLUDE_FILES "${SPIRLOOM_TEST_ENVIRONMENT}")
endif()
