# ruv_embed_page(<target>): adds the files of the page, as web/dist has them, to the target's sources.
# `npm run build` in web/ makes these files, and CI checks that they are those of the sources beside
# them, so that a build of the program needs no npm.
function(ruv_embed_page target)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/page_bytes.cpp)
  set(text "// Made by cmake/page.cmake.\n#include \"net/web/page_files.h\"\n\nnamespace ruv {\nnamespace {\n")
  set(entries "PageFile{\"/\", \"text/html; charset=utf-8\", k_page_html}")
  foreach(name page.html page.js page-prose.js page-temml.js page-views.js)
    set(file ${RUV_ROOT}/web/dist/${name}.gz)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(MAKE_C_IDENTIFIER ${name} constant)
    string(APPEND text "\nconstexpr unsigned char k_${constant}[] = {${bytes}};\n")
    if(name MATCHES "[.]js$")
      string(APPEND entries
             ",\n    PageFile{\"/${name}\", \"text/javascript; charset=utf-8\", k_${constant}}")
    endif()
  endforeach()
  string(APPEND text "
}  // namespace

std::span<const PageFile> page_files() {
  static const PageFile kFiles[] = {
    ${entries}};
  return kFiles;
}

}  // namespace ruv
")
  file(CONFIGURE OUTPUT ${made} CONTENT "${text}" @ONLY)
  set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${made})
endfunction()
