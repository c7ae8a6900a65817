# Makes the build tree a package: find_package(spirloom CONFIG) with spirloom_DIR=<build directory>
# provides the libraries, the shader compiler and the CMake functions without an installation.
include_guard(GLOBAL)

# spirloom_export_build_tree(): writes spirloomConfig.cmake and the targets to the build directory.
function(spirloom_export_build_tree)
  get_target_property(SPIRLOOM_C_SHARED spirloom::c_shared ALIASED_TARGET)
  set(targets spirloom_warnings spirloom_graph_schema spirloom_runtime spirloom_c
              "${SPIRLOOM_C_SHARED}" spirloom_shaders_all spirloom-shaderc)
  set(SPIRLOOM_PACKAGE_TARGETS "runtime c shaders_all graph_schema")
  if(TARGET spirloom_executorch)
    list(APPEND targets spirloom_executorch)
    string(APPEND SPIRLOOM_PACKAGE_TARGETS " executorch")
  endif()
  list(REMOVE_DUPLICATES targets)
  export(
    TARGETS ${targets}
    FILE "${PROJECT_BINARY_DIR}/spirloomTargets.cmake")
  set(SPIRLOOM_PACKAGE_INIT "set(spirloom_modules \"${PROJECT_SOURCE_DIR}/cmake\")")
  set(SPIRLOOM_PACKAGE_DEPENDENCIES SpirloomDependencies)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/spirloomConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/spirloomConfig.cmake" @ONLY)
endfunction()

if(PROJECT_IS_TOP_LEVEL AND NOT SPIRLOOM_SHADERC)
  cmake_language(DEFER DIRECTORY "${PROJECT_SOURCE_DIR}" CALL spirloom_export_build_tree)
endif()
