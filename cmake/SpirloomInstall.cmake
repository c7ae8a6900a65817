# `cmake --install`: a package for find_package(spirloom CONFIG). In addition to libraries, headers
# and programs, share/spirloom contains the inputs of shader libraries (codegen/, spec_model/,
# op_specs/, templates/) and the Python package, with the paths of the repository.
include_guard(GLOBAL)
if(NOT SPIRLOOM_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(share "${CMAKE_INSTALL_DATADIR}/spirloom")
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/spirloom")

get_target_property(SPIRLOOM_C_SHARED spirloom::c_shared ALIASED_TARGET)
set(targets spirloom_warnings spirloom_runtime spirloom_c "${SPIRLOOM_C_SHARED}"
            spirloom_shaders_all spirloom_external_memory spirloom_pool spirloom-run spirloom-ops)
set(SPIRLOOM_PACKAGE_TARGETS "runtime c shaders_all external_memory pool")
if(TARGET spirloom_executorch)
  list(APPEND targets spirloom_executorch)
  string(APPEND SPIRLOOM_PACKAGE_TARGETS " executorch")
  install(FILES integrations/executorch/include/spirloom/executorch.h
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/spirloom")
endif()
if(TARGET spirloom_executor_runner)
  list(APPEND targets spirloom_executor_runner)
endif()
if(TARGET spirloom-llm)
  list(APPEND targets spirloom-llm)
  if(NOT BUILD_SHARED_LIBS)  # spirloom_llm uses internals, which a shared runtime does not export
    list(APPEND targets spirloom_llm)
    string(APPEND SPIRLOOM_PACKAGE_TARGETS " llm")
    set(headers "${CMAKE_INSTALL_INCLUDEDIR}/spirloom-llm")
    install(DIRECTORY llm/include/spirloom DESTINATION "${headers}")
    install(DIRECTORY llm/model llm/tokenizer DESTINATION "${headers}/llm"
      FILES_MATCHING PATTERN "*.h")
  endif()
endif()
list(REMOVE_DUPLICATES targets)
if(NOT SPIRLOOM_SHADERC)
  list(APPEND targets spirloom-shaderc)
endif()
install(TARGETS ${targets} EXPORT spirloomTargets)
install(EXPORT spirloomTargets DESTINATION "${package}")
# Archives without bytecode of link-time optimization, which a linker would prefer to machine code,
# but which only the compiler of the same version reads.
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE AND NOT BUILD_SHARED_LIBS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    install(CODE "
      file(GLOB archives
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libspirloom*.a\")
      foreach(archive IN LISTS archives)
        execute_process(
          COMMAND \"${CMAKE_OBJCOPY}\" --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
                  \"\${archive}\"
          COMMAND_ERROR_IS_FATAL ANY)
      endforeach()")
  else()
    install(CODE "
      message(FATAL_ERROR
        \"Only ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} could link the static libraries: \"
        \"they are bytecode. Configure with SPIRLOOM_LTO=OFF or BUILD_SHARED_LIBS=ON.\")")
  endif()
endif()
install(FILES "$<TARGET_PROPERTY:spirloom_shaders_all,SPIRLOOM_PACK>" DESTINATION "${share}"
  RENAME shaders_all.slpack)  # for programs without a linked shader library, e.g. in other languages
install(DIRECTORY runtime/include/spirloom "${PROJECT_BINARY_DIR}/runtime/include/spirloom"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

install(FILES
  integrations/external_memory/include/spirloom/external_memory.h
  integrations/pool/include/spirloom/pool.h
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/spirloom")

install(DIRECTORY codegen spec_model op_specs templates frontend schema DESTINATION "${share}"
  FILES_MATCHING PATTERN "*.py" PATTERN "*.yaml" PATTERN "*.j2" PATTERN "*.fbs" PATTERN "*.in"
  PATTERN "*.inc" PATTERN "kernels.txt" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY integrations/executorch/blob DESTINATION "${share}/integrations/executorch"
  FILES_MATCHING PATTERN "*.fbs")
install(FILES
  cmake/SpirloomEmbed.cmake cmake/SpirloomExports.cmake cmake/SpirloomFind.cmake cmake/exports.map
  cmake/SpirloomLlm.cmake cmake/SpirloomPython.cmake
  cmake/SpirloomRuntimeDependencies.cmake cmake/SpirloomSelection.cmake
  cmake/SpirloomShaderLibrary.cmake cmake/embed.S.in cmake/embed_as_array.cmake cmake/library.cpp.in
  DESTINATION "${share}/cmake")
install(PROGRAMS cmake/spirloom.py DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME spirloom)
install(CODE "
  execute_process(
    COMMAND \"${SPIRLOOM_PYTHON}\" \"${PROJECT_SOURCE_DIR}/cmake/make_bindings.py\"
            --flatc \"${SPIRLOOM_FLATC}\"
            --out \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${share}/frontend\"
            \"${PROJECT_SOURCE_DIR}/schema/graph.fbs\" \"${PROJECT_SOURCE_DIR}/schema/cases.fbs\"
    COMMAND_ERROR_IS_FATAL ANY)")

set(SPIRLOOM_PACKAGE_DEPENDENCIES SpirloomRuntimeDependencies)
set(SPIRLOOM_PACKAGE_INIT "@PACKAGE_INIT@\nset(spirloom_modules \"@PACKAGE_modules@\")")
configure_file(cmake/spirloomConfig.cmake.in
  "${PROJECT_BINARY_DIR}/installed/spirloomConfig.cmake.in" @ONLY)
set(modules "${share}/cmake")
configure_package_config_file(
  "${PROJECT_BINARY_DIR}/installed/spirloomConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/installed/spirloomConfig.cmake"
  INSTALL_DESTINATION "${package}" PATH_VARS modules NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/installed/spirloomConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/installed/spirloomConfig.cmake"
  "${PROJECT_BINARY_DIR}/installed/spirloomConfigVersion.cmake"
  DESTINATION "${package}")
