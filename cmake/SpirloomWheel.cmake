# What `pip install .` builds (pyproject.toml, `./dev wheel`): the target spirloom_wheel and the install
# component `wheel`, laid out as site-packages are. In spirloom/_native lie the C API's library, all
# shaders compressed, and spirloom-run; and ExecuTorch's backend (integrations/executorch).
include_guard(GLOBAL)
if(NOT SPIRLOOM_WHEEL)
  return()
endif()
if(NOT SPIRLOOM_ZSTD)
  message(FATAL_ERROR "SPIRLOOM_WHEEL compresses the shaders: it needs SPIRLOOM_ZSTD=ON.")
endif()

# One file of shaders serves both: spirloom-run opens it as the library does, and embeds next to
# nothing (pyproject.toml sets SPIRLOOM_OPS).
spirloom_add_shader_library(spirloom_wheel_shaders PACK_ONLY COMPRESS LIBRARY spirloom::shaders_all)

# Nothing but glibc and libgcc_s is taken from the machine, so that one wheel serves many distributions.
# (A static libgcc would ask for a newer glibc than all the rest.)
find_library(SPIRLOOM_STATIC_ZSTD libzstd.a)
mark_as_advanced(SPIRLOOM_STATIC_ZSTD)
if(SPIRLOOM_STATIC_ZSTD)
  set_target_properties(zstd::zstd PROPERTIES INTERFACE_LINK_LIBRARIES "${SPIRLOOM_STATIC_ZSTD}")
endif()
set(SPIRLOOM_WHEEL_LINK_OPTIONS
  $<$<CXX_COMPILER_ID:GNU,Clang>:-static-libstdc++;LINKER:--strip-all>)
foreach(target IN ITEMS spirloom_c_shared spirloom-run)
  target_link_options(${target} PRIVATE ${SPIRLOOM_WHEEL_LINK_OPTIONS})
endforeach()

set(packages "${PROJECT_BINARY_DIR}/packages")
set(schemas "${PROJECT_SOURCE_DIR}/schema/graph.fbs" "${PROJECT_SOURCE_DIR}/schema/cases.fbs")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS
  codegen/*.py frontend/*.py frontend/*.txt op_specs/*.py op_specs/*.yaml templates/*.j2
  templates/*.yaml schema/executorch/*.fbs integrations/executorch/blob/*.fbs)
add_custom_command(
  OUTPUT "${packages}/spirloom/ops.pickle"
  COMMAND "${SPIRLOOM_PYTHON}" "${PROJECT_SOURCE_DIR}/cmake/make_package.py"
          --flatc "${SPIRLOOM_FLATC}" --out "${packages}" ${schemas}
  DEPENDS cmake/make_package.py cmake/make_bindings.py ${sources} ${schemas}
  COMMENT "Making the Python packages"
  VERBATIM)
add_custom_target(spirloom_wheel DEPENDS "${packages}/spirloom/ops.pickle")
add_dependencies(spirloom_wheel spirloom_c_shared spirloom-run spirloom_wheel_shaders)

set(SPIRLOOM_WHEEL_NATIVE spirloom/_native)  # here also integrations/executorch installs
set(native ${SPIRLOOM_WHEEL_NATIVE})
install(DIRECTORY "${packages}/" DESTINATION . COMPONENT wheel
  PATTERN "__pycache__" EXCLUDE)
install(FILES "$<TARGET_FILE:spirloom_c_shared>" DESTINATION ${native} COMPONENT wheel
  RENAME "$<TARGET_SONAME_FILE_NAME:spirloom_c_shared>")
install(FILES "$<TARGET_PROPERTY:spirloom_wheel_shaders,SPIRLOOM_PACK>" DESTINATION ${native}
  COMPONENT wheel RENAME shaders_all.slpack)
install(PROGRAMS "$<TARGET_FILE:spirloom-run>" DESTINATION ${native} COMPONENT wheel)
