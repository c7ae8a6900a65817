# cmake -DNM=... -DLIBRARY=... -P check_symbols.cmake: fails if the library defines Vulkan symbols,
# or, if it is shared, exports symbols of other libraries or internal ones.
if(LIBRARY MATCHES "\\.a$")
  set(flags "")
  set(wrong " [A-Za-z] vk[A-Z][A-Za-z0-9]*")
else()
  set(flags -D)
  set(wrong " [A-Za-z] ([^_s\n]|_[^Z\n]|_Z[^N\n]|_ZN[^8K\n]|_ZNK[^8\n]|s[^p\n])[^\n]*")
endif()
execute_process(COMMAND "${NM}" ${flags} --defined-only "${LIBRARY}"
  OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "8spirloom")
  message(FATAL_ERROR "${LIBRARY} contains no symbols of spirloom, so the check is ineffective.")
endif()
string(REGEX MATCHALL "${wrong}" found "${symbols}")
if(NOT LIBRARY MATCHES "\\.a$")  # internal namespaces
  string(REGEX MATCHALL " _ZNK?8spirloom(6vulkan|5graph|3ops|4pack|7session|8internal)[^\n]*" inner "${symbols}")
  list(APPEND found ${inner})
endif()
if(found)
  list(SUBLIST found 0 20 some)
  list(JOIN some "\n " text)
  message(FATAL_ERROR "${LIBRARY} must not define:\n ${text}")
endif()
