# Third-party libraries for a system whose own are not installed: the headers of this machine's
# packages, which do not depend on the system.
set(CMAKE_PREFIX_PATH ${CMAKE_CURRENT_LIST_DIR}/packages)
set(RUV_SODIUM sodium CACHE STRING "")
set(RUV_SQLITE sqlite3 CACHE STRING "")
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/third_party)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/third_party)
foreach(header boost fmt tl simdjson.h utf8proc.h sodium.h sodium sqlite3.h)
  file(CREATE_LINK /usr/include/${header} ${CMAKE_BINARY_DIR}/third_party/${header} SYMBOLIC)
endforeach()
