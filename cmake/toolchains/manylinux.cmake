# Linux with glibc 2.28 and newer, by Zig's C++ compiler (pip install ziglang), which contains the
# symbol versions of old glibc releases, and links its C++ library statically. The variables
# SPIRLOOM_ZIG (the program zig) and SPIRLOOM_MACHINE (x86_64 or aarch64) are required. Set
# SPIRLOOM_SHADERC to a shader compiler for the build host, and SPIRLOOM_HOST_HEADERS=ON.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SPIRLOOM_ZIG SPIRLOOM_MACHINE)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${SPIRLOOM_MACHINE}")
set(CMAKE_C_COMPILER "${SPIRLOOM_ZIG}" cc)
set(CMAKE_CXX_COMPILER "${SPIRLOOM_ZIG}" c++)
set(CMAKE_ASM_COMPILER "${SPIRLOOM_ZIG}" cc)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET "${SPIRLOOM_MACHINE}-linux-gnu.2.28")
endforeach()
# CMake passes the target only to compilers of C and C++.
set(CMAKE_ASM_FLAGS_INIT "--target=${SPIRLOOM_MACHINE}-linux-gnu.2.28")
# CMake accepts no arguments of these programs.
foreach(program IN ITEMS ar ranlib)
  set(script "${CMAKE_BINARY_DIR}/zig-${program}")
  file(CONFIGURE OUTPUT "${script}" CONTENT "#!/bin/sh\nexec '@SPIRLOOM_ZIG@' @program@ \"$@\"\n" @ONLY)
  file(CHMOD "${script}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  string(TOUPPER "${program}" variable)
  foreach(prefix IN ITEMS CMAKE CMAKE_C_COMPILER CMAKE_CXX_COMPILER)  # the latter for archives of LTO
    set(${prefix}_${variable} "${script}" CACHE FILEPATH "" FORCE)
  endforeach()
endforeach()
# Packages of the build host require its C library.
set(CMAKE_FIND_ROOT_PATH "${CMAKE_BINARY_DIR}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
