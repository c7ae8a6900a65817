# The choice of ops and variants that a shader library keeps: made while configuring, and again by the build
# when specs change.
include_guard(GLOBAL)

# _spirloom_select(NAME FILE flags prefix ops ops_yaml models dtypes storages): makes FILE, which says
# what the library NAME keeps. A wrong selector stops configuration; a file of selectors configures
# again when it changes. Specs do not: the build makes FILE of them, which then may stay as it was.
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
  execute_process(
    COMMAND ${command}
    WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
    RESULT_VARIABLE status OUTPUT_VARIABLE summary ERROR_VARIABLE problem
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    string(REPLACE "\n" "\n  " problem "${problem}")
    message(FATAL_ERROR "The selection of the shader library ${name} fails:\n  ${problem}")
  endif()
  message(STATUS "Shader library ${name}: ${summary}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ops_yaml} ${models})

  add_custom_command(
    OUTPUT "${file}"
    COMMAND ${command}
    DEPENDS ${ops_yaml} ${models}
    DEPFILE "${file}.d"
    WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
    COMMENT "Selecting shaders of ${name}"
    VERBATIM)
endfunction()
