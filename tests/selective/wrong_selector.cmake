# cmake -DSPIRLOOM_SOURCE_DIR=dir -DSPIRLOOM_PYTHON=python3 -P wrong_selector.cmake
#
# Fails, as configuring with a misspelt operator does.
include("${SPIRLOOM_SOURCE_DIR}/cmake/SpirloomShaderLibrary.cmake")
spirloom_add_shader_library(wrong OPS convolutoin OUT "${CMAKE_CURRENT_BINARY_DIR}/wrong")
