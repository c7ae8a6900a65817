# cmake -DOBJDUMP=... -DLIBRARY=... -P check_constants.cmake: fails if a constant (kName) of the
# static library is in writable memory. GCC 12 places a constexpr std::array there if its template
# arguments are deduced; with std::to_array() it is read-only.
execute_process(COMMAND "${OBJDUMP}" -t "${LIBRARY}"
  OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "\\.rodata[^\n]*8spirloom[^\n]*k[A-Z]")
  message(FATAL_ERROR "${LIBRARY} contains no constants of spirloom, so the check is ineffective.")
endif()
# The section, possibly followed by the name of its only symbol (-fdata-sections).
set(section "\\.data(\\.rel|\\.rel\\.local)?(\\._Z[^\t]*)?")
string(REGEX MATCHALL " ${section}\t[^\n]*[0-9]k[A-Z][A-Za-z0-9]*E\n" found "${symbols}")
if(found)
  list(REMOVE_DUPLICATES found)
  list(JOIN found " " text)
  message(FATAL_ERROR "Constants in writable memory in ${LIBRARY}:\n ${text}")
endif()
