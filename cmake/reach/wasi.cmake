# WebAssembly with WASI by clang, without exceptions and threads: Debian's clang-19, wasi-libc and
# libc++-19-dev-wasm32. For compiling the library only (.ci/run reach).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_FLAGS_INIT "-fno-exceptions")
set(CMAKE_AR /usr/bin/ar)
set(CMAKE_RANLIB /usr/bin/true)
include(${CMAKE_CURRENT_LIST_DIR}/headers_only.cmake)
