# WebAssembly with WASI by clang, without exceptions and threads: Debian's clang-19, wasi-libc and
# libc++-19-dev-wasm32. For compiling the library only (.ci/run reach).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
# 64-bit numbers become a 32-bit size_t in 74 places, where they are hashes or were compared before
# with bytes or items in memory: a warning, not an error.
set(CMAKE_CXX_FLAGS_INIT
    "-fno-exceptions -DBOOST_SYSTEM_DISABLE_THREADS -Wno-error=shorten-64-to-32")
include(${CMAKE_CURRENT_LIST_DIR}/headers_only.cmake)
