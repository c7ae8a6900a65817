# The choice of ops and variants that a shader library keeps, made while configuring.
include_guard(GLOBAL)

# _spirloom_select(NAME FILE flags prefix ops ops_yaml models dtypes storages): writes FILE, which
# says what the library NAME keeps. A wrong selector stops configuration. Whatever the choice follows
# from configures again when it changes.
function(_spirloom_select name file flags prefix ops ops_yaml models dtypes storages)
  foreach(list IN ITEMS ops_yaml models)
    set(paths "")
    foreach(path IN LISTS ${list})
      cmake_path(ABSOLUTE_PATH path NORMALIZE)
      list(APPEND paths "${path}")
    endforeach()
    set(${list} "${paths}")
  endforeach()
  execute_process(
    COMMAND "${SPIRLOOM_PYTHON}" -m codegen select ${flags} --out "${file}" --prefix "${prefix}"
            --ops ${ops} --ops-yaml ${ops_yaml} --models ${models}
            --dtypes ${dtypes} --storages ${storages}
    WORKING_DIRECTORY "${SPIRLOOM_ROOT}"
    RESULT_VARIABLE status OUTPUT_VARIABLE summary ERROR_VARIABLE problem
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    string(REPLACE "\n" "\n  " problem "${problem}")
    message(FATAL_ERROR "The selection of the shader library ${name} fails:\n  ${problem}")
  endif()
  message(STATUS "Shader library ${name}: ${summary}")

  file(READ "${file}" selection)
  _spirloom_json_list(inputs "${selection}" inputs)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
endfunction()

# _spirloom_json_list(out JSON member): a JSON array of strings as a list.
function(_spirloom_json_list out json member)
  set(items "")
  string(JSON count LENGTH "${json}" ${member})
  if(count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON item GET "${json}" ${member} ${i})
      list(APPEND items "${item}")
    endforeach()
  endif()
  set(${out} "${items}" PARENT_SCOPE)
endfunction()
