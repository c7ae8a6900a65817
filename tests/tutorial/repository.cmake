# The root of the tutorial's copy of the repository. Uses the existing libraries and compiler, so that
# only shaders and operator tests are built.
cmake_minimum_required(VERSION 3.25)
project(spirloom_copy LANGUAGES C CXX ASM)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
find_package(spirloom CONFIG REQUIRED)
spirloom_add_shader_library(shaders SPEC_DIRS op_specs TEMPLATE_DIRS templates/glsl)
spirloom_add_op_tests(op_tests shaders)
