# cmake -DSPIRLOOM_SOURCE_DIR=dir -DSPIRLOOM_PYTHON=python3 -P wrong_selector.cmake
#
# Fails: the operator is misspelled.
set(PROJECT_SOURCE_DIR "${SPIRLOOM_SOURCE_DIR}")  # not defined in a script
include("${SPIRLOOM_SOURCE_DIR}/cmake/SpirloomShaderLibrary.cmake")
spirloom_add_shader_library(wrong OPS convolutoin OUT "${CMAKE_CURRENT_BINARY_DIR}/wrong")
