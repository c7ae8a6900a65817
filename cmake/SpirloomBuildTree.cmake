# Makes the build tree a package: find_package(spirloom CONFIG) with spirloom_DIR=<this build folder>
# gives a project the libraries, the shader compiler and the CMake functions without building them
# again.
include_guard(GLOBAL)

# spirloom_export_build_tree(): writes spirloomConfig.cmake and the targets into the build folder.
function(spirloom_export_build_tree)
  export(
    TARGETS spirloom_warnings spirloom_graph_schema spirloom_runtime spirloom_shaders_all
            spirloom-shaderc
    FILE "${PROJECT_BINARY_DIR}/spirloomTargets.cmake")
  set(SPIRLOOM_PACKAGE_INIT "set(spirloom_modules \"${PROJECT_SOURCE_DIR}/cmake\")")
  set(SPIRLOOM_PACKAGE_DEPENDENCIES SpirloomDependencies)
  set(SPIRLOOM_PACKAGE_TARGETS "runtime shaders_all graph_schema")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/spirloomConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/spirloomConfig.cmake" @ONLY)
endfunction()

if(PROJECT_IS_TOP_LEVEL AND NOT SPIRLOOM_SHADERC)
  cmake_language(DEFER DIRECTORY "${PROJECT_SOURCE_DIR}" CALL spirloom_export_build_tree)
endif()
