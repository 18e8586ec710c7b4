# 64-bit Windows by Debian's g++-mingw-w64-x86-64-posix. For compiling the library only
# (.ci/run reach).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
include(${CMAKE_CURRENT_LIST_DIR}/headers_only.cmake)
