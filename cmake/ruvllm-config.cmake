# find_package(ruvllm CONFIG): the target ruv::ruv and what it links.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(simdjson)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/ruvllm-targets.cmake)
