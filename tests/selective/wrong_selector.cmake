# cmake -DSPIRLOOM_SOURCE_DIR=dir -DSPIRLOOM_PYTHON=python3 -P wrong_selector.cmake
#
# Fails, as configuring with a misspelt operator does.
set(PROJECT_SOURCE_DIR "${SPIRLOOM_SOURCE_DIR}")  # of which a script has none
include("${SPIRLOOM_SOURCE_DIR}/cmake/SpirloomShaderLibrary.cmake")
spirloom_add_shader_library(wrong OPS convolutoin OUT "${CMAKE_CURRENT_BINARY_DIR}/wrong")
