# cmake -DSPIRLOOM_SOURCE_DIR=dir -DSPIRLOOM_PYTHON=python3 -DQUOTED=ON -P empty_selector.cmake
#
# Fails: the list of models is empty, as that of a misspelled variable.
set(PROJECT_SOURCE_DIR "${SPIRLOOM_SOURCE_DIR}")  # not defined in a script
include("${SPIRLOOM_SOURCE_DIR}/cmake/SpirloomShaderLibrary.cmake")
if(QUOTED)
  spirloom_add_shader_library(empty MODELS "${misspelled}")
else()
  spirloom_add_shader_library(empty MODELS ${misspelled} OUT "${CMAKE_CURRENT_BINARY_DIR}/empty")
endif()
