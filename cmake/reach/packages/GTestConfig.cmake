# Debian's package `googletest` holds the sources; the prebuilt library is for the build machine.
if(NOT TARGET GTest::gtest_main)
  set(googletest /usr/src/googletest/googletest)
  add_library(gtest_main STATIC EXCLUDE_FROM_ALL ${googletest}/src/gtest-all.cc
                                ${googletest}/src/gtest_main.cc)
  target_include_directories(gtest_main SYSTEM PUBLIC ${googletest}/include PRIVATE ${googletest})
  target_link_libraries(gtest_main PUBLIC Threads::Threads)
  add_library(GTest::gtest_main ALIAS gtest_main)
endif()
