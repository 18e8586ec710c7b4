# Cross compiling to 64-bit Arm from an x86 machine: Debian's g++-aarch64-linux-gnu, with whose C and
# C++ libraries qemu-user-static runs the result. What links third-party libraries needs those of
# tools/fetch_aarch64_libraries; base, tensor and kernels do without.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
get_filename_component(libraries ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64_root ABSOLUTE)
set(libraries ${libraries}/usr/lib/aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${libraries} -Wl,-rpath,${libraries}")
unset(RUV_FMT)
if(EXISTS ${libraries}/libfmt.so)
  set(RUV_FMT fmt)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/reach/third_party.cmake)
