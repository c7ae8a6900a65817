# spirloom_export_api(): limits the exported symbols of shared libraries.
include_guard(GLOBAL)

set(SPIRLOOM_EXPORTS_MAP "${CMAKE_CURRENT_LIST_DIR}/exports.map" CACHE INTERNAL "")

# spirloom_export_api(TARGET): a shared library exports only symbols with SPIRLOOM_API. No effect on
# static libraries.
function(spirloom_export_api target)
  if(ARGN)
    message(FATAL_ERROR "spirloom_export_api(${target}): unexpected arguments: ${ARGN}")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  target_compile_definitions(${target} PUBLIC SPIRLOOM_SHARED PRIVATE SPIRLOOM_BUILDING)
  if(NOT APPLE AND NOT WIN32)  # hides templates of the standard library, which have default visibility
    target_link_options(${target} PRIVATE "LINKER:--version-script=${SPIRLOOM_EXPORTS_MAP}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${SPIRLOOM_EXPORTS_MAP}")
  endif()
endfunction()
