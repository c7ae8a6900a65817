# Dependencies of programs that link the runtime: Threads::Threads, and zstd::zstd with
# SPIRLOOM_ZSTD. The installed package includes this file.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/SpirloomFind.cmake")

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
if(SPIRLOOM_ZSTD)
  spirloom_find_header(zstd::zstd zstd.h libzstd-dev zstd)
endif()
