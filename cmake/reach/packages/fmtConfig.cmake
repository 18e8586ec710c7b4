# By its headers alone, unless the toolchain file found the library.
add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
if(RUV_FMT)
  target_link_libraries(fmt::fmt INTERFACE ${RUV_FMT})
elseif(NOT RUV_COMPILE_ONLY)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
endif()
