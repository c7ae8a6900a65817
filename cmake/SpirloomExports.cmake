# spirloom_export_api(): what a shared library of ours exports.
include_guard(GLOBAL)

set(SPIRLOOM_EXPORTS_MAP "${CMAKE_CURRENT_LIST_DIR}/exports.map" CACHE INTERNAL "")

# spirloom_export_api(TARGET): of a shared library, exports what SPIRLOOM_API marks and no other
# name; nothing happens to a static one.
function(spirloom_export_api target)
  if(ARGN)
    message(FATAL_ERROR "spirloom_export_api(${target}): unexpected arguments: ${ARGN}")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  target_compile_definitions(${target} PUBLIC SPIRLOOM_SHARED PRIVATE SPIRLOOM_BUILDING)
  if(NOT APPLE AND NOT WIN32)  # templates of the standard library are visible by themselves
    target_link_options(${target} PRIVATE "LINKER:--version-script=${SPIRLOOM_EXPORTS_MAP}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${SPIRLOOM_EXPORTS_MAP}")
  endif()
endfunction()
