# Enables testing in a top-level build. Tests use a cache directory in the build tree, not the
# user's.
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
