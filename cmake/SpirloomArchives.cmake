# Downloads source archives: archives.csv has the path in Debian's pool and the SHA-256 of each.
include_guard(GLOBAL)
include(FetchContent)

set(SPIRLOOM_ARCHIVES "${CMAKE_CURRENT_LIST_DIR}/archives.csv")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${SPIRLOOM_ARCHIVES}")

# spirloom_fetch(NAME): downloads and unpacks an archive into NAME_SOURCE_DIR, without adding its
# CMake project. FETCHCONTENT_SOURCE_DIR_<NAME> is an existing directory to use instead. Plain HTTP is
# enough, because the hash is checked; the snapshot remains when Debian removes its release.
function(spirloom_fetch name)
  if(ARGN)
    message(FATAL_ERROR "spirloom_fetch(${name}): unexpected arguments: ${ARGN}")
  endif()
  file(STRINGS "${SPIRLOOM_ARCHIVES}" row REGEX "^${name},")
  string(REPLACE "," ";" row "${row}")
  list(LENGTH row columns)
  if(NOT columns EQUAL 4)
    message(FATAL_ERROR "spirloom_fetch: ${SPIRLOOM_ARCHIVES} has no row of '${name}'")
  endif()
  list(GET row 1 path)
  list(GET row 2 hash)
  set(pool "debian/pool/main/${path}")
  FetchContent_Declare(${name}
    URL "https://deb.debian.org/${pool}"
        "http://deb.debian.org/${pool}"
        "https://snapshot.debian.org/archive/debian/20251101T000000Z/pool/main/${path}"
    URL_HASH SHA256=${hash}
    DOWNLOAD_EXTRACT_TIMESTAMP OFF
    SOURCE_SUBDIR no-project)
  FetchContent_MakeAvailable(${name})
  set(${name}_SOURCE_DIR "${${name}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()
