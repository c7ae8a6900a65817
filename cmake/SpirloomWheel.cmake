# The wheel (`pip install .`, pyproject.toml, `./dev wheel`): the target spirloom_wheel and the
# install component `wheel`, with the layout of site-packages. spirloom/_native contains the C API
# library, all shaders (compressed), the programs that run them, and the ExecuTorch backend
# (integrations/executorch).
include_guard(GLOBAL)
if(NOT SPIRLOOM_WHEEL)
  return()
endif()
if(NOT SPIRLOOM_ZSTD)
  message(FATAL_ERROR "SPIRLOOM_WHEEL requires SPIRLOOM_ZSTD=ON, because the wheel contains "
                      "compressed shaders.")
endif()

# The programs and the C API library open the same file of shaders; the programs embed almost none
# (pyproject.toml sets SPIRLOOM_OPS).
spirloom_add_shader_library(spirloom_wheel_shaders PACK_ONLY COMPRESS LIBRARY spirloom::shaders_all)

# Binaries depend only on glibc and libgcc_s, so that the wheel runs on many distributions. A static
# libgcc would require a newer glibc.
function(spirloom_link_statically target archive)
  find_library(SPIRLOOM_STATIC_${archive} ${archive})
  mark_as_advanced(SPIRLOOM_STATIC_${archive})
  if(SPIRLOOM_STATIC_${archive} AND NOT SPIRLOOM_FETCH_DEPENDENCIES AND NOT CMAKE_CROSSCOMPILING)
    set_target_properties(${target} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${SPIRLOOM_STATIC_${archive}}")
  endif()
endfunction()
spirloom_link_statically(zstd::zstd libzstd.a)
set(programs spirloom-run spirloom-ops)
if(TARGET spirloom-llm)
  spirloom_link_statically(PCRE2::8Bit libpcre2-8.a)
  spirloom_link_statically(utf8proc::utf8proc libutf8proc.a)
  list(APPEND programs spirloom-llm)
endif()
set(SPIRLOOM_WHEEL_LINK_OPTIONS
  $<$<CXX_COMPILER_ID:GNU,Clang>:-static-libstdc++;LINKER:--strip-all>)
foreach(target IN ITEMS spirloom_c_shared ${programs})
  target_link_options(${target} PRIVATE ${SPIRLOOM_WHEEL_LINK_OPTIONS})
endforeach()

set(packages "${PROJECT_BINARY_DIR}/packages")
set(schemas "${PROJECT_SOURCE_DIR}/schema/graph.fbs" "${PROJECT_SOURCE_DIR}/schema/cases.fbs")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS
  codegen/*.py spec_model/*.py spec_model/*.inc frontend/*.py frontend/*.txt frontend/*.in
  frontend/*.css frontend/*.html frontend/*.js
  op_specs/*.py op_specs/*.yaml templates/*.j2
  templates/*.yaml schema/executorch/*.fbs integrations/executorch/blob/*.fbs)
add_custom_command(
  OUTPUT "${packages}/spirloom/ops.pickle"
  COMMAND "${SPIRLOOM_PYTHON}" "${PROJECT_SOURCE_DIR}/cmake/make_package.py"
          --flatc "${SPIRLOOM_FLATC}" --out "${packages}" ${schemas}
  DEPENDS cmake/make_package.py cmake/make_bindings.py ${sources} ${schemas}
  COMMENT "Generating the Python packages"
  VERBATIM)
add_custom_target(spirloom_wheel DEPENDS "${packages}/spirloom/ops.pickle")
add_dependencies(spirloom_wheel spirloom_c_shared ${programs} spirloom_wheel_shaders)

set(SPIRLOOM_WHEEL_NATIVE spirloom/_native)  # also used by integrations/executorch
set(native ${SPIRLOOM_WHEEL_NATIVE})
install(DIRECTORY "${packages}/" DESTINATION . COMPONENT wheel
  PATTERN "__pycache__" EXCLUDE)
if(WIN32)
  install(FILES "$<TARGET_FILE:spirloom_c_shared>" DESTINATION ${native} COMPONENT wheel)
else()
  install(FILES "$<TARGET_FILE:spirloom_c_shared>" DESTINATION ${native} COMPONENT wheel
    RENAME "$<TARGET_SONAME_FILE_NAME:spirloom_c_shared>")
endif()
install(FILES "$<TARGET_PROPERTY:spirloom_wheel_shaders,SPIRLOOM_PACK>" DESTINATION ${native}
  COMPONENT wheel RENAME shaders_all.slpack)
foreach(program IN LISTS programs)  # not TARGETS, which pip strips: that writes a time into PE files
  install(PROGRAMS "$<TARGET_FILE:${program}>" DESTINATION ${native} COMPONENT wheel)
endforeach()
