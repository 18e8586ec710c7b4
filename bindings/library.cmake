# The shared library that packages for other languages hold.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

# Sets `library` to the file and `TARGET` to a target that makes it: compiled here, or taken as it is
# from -DRUVLLM_LIBRARY=build/release/src/capi/libruvllm.so.1.
macro(ruvllm_library TARGET)
  if(RUVLLM_LIBRARY)
    get_filename_component(library ${RUVLLM_LIBRARY} REALPATH BASE_DIR ${root})
    add_custom_target(${TARGET})
  else()
    set(RUV_PROGRAM ON)
    set(RUV_TESTS OFF)
    set(RUV_INSTALL OFF)
    add_subdirectory(${root} ruvllm EXCLUDE_FROM_ALL)
    set(library $<TARGET_FILE:ruvllm_c>)
    add_custom_target(${TARGET} DEPENDS ruvllm_c)
  endif()
endmacro()

# Installs it with the libraries of the distribution that it needs; libstdc++ and the C library are
# the system's.
macro(ruvllm_install_library FOLDER COMPONENT)
  install(CODE "
    set(folder \"\${CMAKE_INSTALL_PREFIX}/${FOLDER}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    file(GET_RUNTIME_DEPENDENCIES LIBRARIES \"${library}\" RESOLVED_DEPENDENCIES_VAR needed
         PRE_EXCLUDE_REGEXES [[^lib(c|m|gcc_s|stdc\\+\\+|pthread|dl|rt)[.]so]] [[^ld-linux]])
    foreach(file \${needed})
      get_filename_component(name \"\${file}\" NAME)
      file(REAL_PATH \"\${file}\" file)
      file(COPY_FILE \"\${file}\" \"\${folder}/\${name}\")
    endforeach()
    file(COPY_FILE \"${library}\" \"\${folder}/libruvllm.so.1\")
  " COMPONENT ${COMPONENT})
endmacro()
