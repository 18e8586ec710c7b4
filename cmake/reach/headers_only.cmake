# Compiling without linking: there are no libraries to link, and nothing of the system need run.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(RUV_COMPILE_ONLY ON)
set(CMAKE_USER_MAKE_RULES_OVERRIDE ${CMAKE_CURRENT_LIST_DIR}/rules.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/third_party.cmake)
