# ruv_module(<name> DEPS <modules…> LIBS <third party…>): one static library per folder of src/.
# Its link list is the list of what it may include. Sources are every *.cpp below the folder;
# foo_test.cpp files become one GoogleTest binary, fuzz_<reader>.cpp one libFuzzer binary each.
# Two warnings of g++ 12 misfire: -Wrestrict on std::string concatenation (GCC bug 105651),
# -Wmaybe-uninitialized on std::variant (GCC bug 80635). clang and the sanitizers keep watch.
#
# RUV_BATCH sources of a module, or of its tests, are compiled together: the headers that they share
# are read once. From nothing, 24 sources take 0.85 of the CPU time of 8, and 8 half of that of 1; 8
# tests a third of that of 1. After a change to one source, all of its batch is compiled again. Names
# of a source's own must therefore be unique within its module; a test whose names others have too is
# in a namespace named as its file (tools/check_names watches over both). Sources with compile options
# of their own (kernels, coroutines) stay alone. Batches of a module have one size, so that none is
# left over for one core at the end.
#
# RUV_TEST_FLAGS come after the build type's own for tests, which are compiled more often than they
# run: -O1 takes three quarters of the time of -O3.
#
# RUV_UNOPTIMIZED names modules that are compiled with -O0, which takes half the time with sanitizers:
# those that are only linked, or whose tests take little. Not format and net, whose fuzz targets would
# run a sixth as often, nor chat, whose depth of nesting is bound to the stack that its frames take.
set(RUV_BATCH 8 CACHE STRING "Sources of a module that are compiled together; 1: each alone")
set(RUV_TEST_FLAGS -O1 CACHE STRING "Compiler flags of tests")
set(RUV_UNOPTIMIZED "" CACHE STRING "Modules that are compiled with -O0")
get_filename_component(RUV_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(RUV_WARNINGS -Wall -Wextra -Wconversion -Wno-sign-conversion $<$<BOOL:${RUV_WERROR}>:-Werror>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

# ruv_batches(<target> <sources…>)
function(ruv_batches target)
  list(LENGTH ARGN n)
  math(EXPR batches "(${n} + ${RUV_BATCH} - 1) / ${RUV_BATCH}")
  math(EXPR size "(${n} + ${batches} - 1) / ${batches}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

function(ruv_module name)
  cmake_parse_arguments(M "" "" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "(_test|/fuzz_[a-z0-9_]+|_bench)\\.cpp$")
  list(TRANSFORM M_DEPS PREPEND ruv_)
  if(NOT sources)
    add_library(ruv_${name} INTERFACE)
    return()
  endif()
  add_library(ruv_${name} STATIC ${sources})
  ruv_batches(ruv_${name} ${sources})
  target_include_directories(ruv_${name} PUBLIC ${RUV_ROOT}/src ${RUV_ROOT}/include)
  target_compile_options(ruv_${name} PRIVATE ${RUV_WARNINGS})
  if(name IN_LIST RUV_UNOPTIMIZED)
    target_compile_options(ruv_${name} PRIVATE -O0)
  endif()
  target_link_libraries(ruv_${name} PUBLIC ${M_DEPS} ${M_LIBS})

  if(RUV_TESTS)
    set(tests ${all})
    list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
    if(tests)
      ruv_test(${name}_tests SOURCES ${tests} LIBS ruv_${name} ${M_TEST_LIBS})
    endif()
  endif()
  if(RUV_FUZZ)
    set(fuzzers ${all})
    list(FILTER fuzzers INCLUDE REGEX "/fuzz_[a-z0-9_]+\\.cpp$")
    foreach(file ${fuzzers})
      get_filename_component(target ${file} NAME_WE)
      add_executable(${target} ${file})
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer ${RUV_WARNINGS})
      target_link_libraries(${target} PRIVATE ruv_${name} -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

# ruv_test(<name> SOURCES … LIBS … LABEL quick|full): a GoogleTest binary, run with the source
# folder as argument RUV_SOURCE_DIR and the shared test data, when present, as RUV_DATA_DIR.
function(ruv_test name)
  cmake_parse_arguments(T "" "LABEL" "SOURCES;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${T_SOURCES})
  ruv_batches(${name} ${T_SOURCES})
  target_compile_options(${name} PRIVATE ${RUV_WARNINGS} ${RUV_TEST_FLAGS})
  target_compile_definitions(${name} PRIVATE RUV_SOURCE_DIR="${RUV_ROOT}"
                             RUV_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_include_directories(${name} PRIVATE ${RUV_ROOT}/tests)
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gtest_main)
  if(NOT T_LABEL)
    set(T_LABEL quick)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${T_LABEL} TIMEOUT 1200)
endfunction()

# Slow tests of what does not depend on the owner of the memory are left out there.
set(RUV_MIRRORED -*RealModel*/ref:Speculation.AThousandPromptsGiveTheSameBytes)

# ruv_mirror_test(<name> LIBS …): the test binary <name> once more, on a device whose memory the host
# cannot read (tests/mirror).
function(ruv_mirror_test name)
  cmake_parse_arguments(M "" "" "LIBS" ${ARGN})
  add_executable(${name}_mirror $<TARGET_OBJECTS:${name}>
                                ${RUV_ROOT}/tests/mirror/mirror_device.cpp)
  target_compile_options(${name}_mirror PRIVATE ${RUV_WARNINGS})
  target_link_libraries(${name}_mirror PRIVATE ${M_LIBS} GTest::gtest_main)
  add_test(NAME ${name}_mirror COMMAND ${name}_mirror "--gtest_filter=${RUV_MIRRORED}")
  set_tests_properties(${name}_mirror PROPERTIES LABELS full TIMEOUT 1800)
endfunction()
