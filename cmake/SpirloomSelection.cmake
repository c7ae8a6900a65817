# Selection of the operators and variants of a shader library, at configuration, and at build time
# when specs change.
include_guard(GLOBAL)

# _spirloom_select(NAME FILE flags prefix ops ops_yaml models dtypes storages): writes the selection
# of the library NAME to FILE. An invalid selector is a configuration error; of models that the build
# generates, a build error. Changed selector files cause reconfiguration; changed specs only update
# FILE during the build, if its content changes.
function(_spirloom_select name file flags prefix ops ops_yaml models dtypes storages)
  set(generator -m codegen)
  foreach(list IN ITEMS ops_yaml models)
    set(paths "")
    foreach(path IN LISTS ${list})
      cmake_path(ABSOLUTE_PATH path NORMALIZE)
      list(APPEND paths "${path}")
      if(path MATCHES "\\.(onnx|b?pte)$")
        set(generator -m spirloom.selective)
      endif()
    endforeach()
    set(${list} "${paths}")
  endforeach()
  set(command "${CMAKE_COMMAND}" -E env --modify "PYTHONPATH=path_list_prepend:${SPIRLOOM_ROOT}/frontend"
      "${SPIRLOOM_PYTHON}" ${generator} select ${flags} --out "${file}" --depfile "${file}.d"
      "--prefix=${prefix}" --ops ${ops} --ops-yaml ${ops_yaml} --models ${models}
      --dtypes ${dtypes} --storages ${storages})
  set(all_exist TRUE)
  foreach(path IN LISTS models)
    get_source_file_property(is_generated "${path}" GENERATED)
    if(is_generated)
      set(all_exist FALSE)
    endif()
  endforeach()
  if(all_exist)
    execute_process(
      COMMAND ${command}
      WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
      RESULT_VARIABLE status OUTPUT_VARIABLE summary ERROR_VARIABLE problem
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
      string(REPLACE "\n" "\n  " problem "${problem}")
      message(FATAL_ERROR "The selection of the shader library ${name} failed:\n  ${problem}")
    endif()
    message(STATUS "Shader library ${name}: ${summary}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ops_yaml} ${models})
  endif()

  add_custom_command(
    OUTPUT "${file}"
    COMMAND ${command}
    DEPENDS ${ops_yaml} ${models}
    DEPFILE "${file}.d"
    WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
    COMMENT "Selecting shaders of ${name}"
    VERBATIM)
endfunction()
