# What `cmake --install` puts where other projects find it: the headers of include/ruv, one static
# library with all modules that an Engine needs, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)

set(objects)
foreach(module base tensor family kernels text device grammar chat format model cache engine)
  list(APPEND objects $<TARGET_OBJECTS:ruv_${module}>)
endforeach()
add_library(ruv_archive STATIC ${objects})
set_target_properties(ruv_archive PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ruvllm
                      EXPORT_NAME ruv)
target_compile_features(ruv_archive INTERFACE cxx_std_20)
target_link_libraries(ruv_archive INTERFACE fmt::fmt simdjson::simdjson Threads::Threads utf8proc
                      sodium)

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/ruv/*.h)
target_sources(ruv_archive INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include
               FILES ${public_headers})
install(TARGETS ruv_archive EXPORT ruvllm ARCHIVE COMPONENT library FILE_SET HEADERS COMPONENT library)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ruvllm)
install(EXPORT ruvllm NAMESPACE ruv:: FILE ruvllm-targets.cmake DESTINATION ${package_dir}
        COMPONENT library)
write_basic_package_version_file(ruvllm-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH RUV_PC_INCLUDE ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/ruvllm.pc.in ruvllm.pc @ONLY)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/ruvllm-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ruvllm-config-version.cmake DESTINATION ${package_dir}
        COMPONENT library)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ruvllm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT library)
