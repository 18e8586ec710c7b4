# ruv_embed_page(<target>): adds the files of the page, as web/dist has them, to the target's sources.
# `npm run build` in web/ makes these files, and CI checks that they are those of the sources beside
# them, so that a build of the program needs no npm.
function(ruv_embed_page target)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/page_bytes.cpp)
  set(text "// Made by cmake/page.cmake.\n#include \"net/web/page_files.h\"\n\nnamespace ruv {\nnamespace {\n")
  foreach(name html js css)
    set(file ${RUV_ROOT}/web/dist/page.${name}.gz)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "\nconstexpr unsigned char k_${name}[] = {${bytes}};\n")
  endforeach()
  string(APPEND text "
}  // namespace

const std::array<PageFile, 3>& page_files() {
  static const std::array<PageFile, 3> kFiles{
      PageFile{\"/\", \"text/html; charset=utf-8\", k_html},
      PageFile{\"/page.js\", \"text/javascript; charset=utf-8\", k_js},
      PageFile{\"/page.css\", \"text/css; charset=utf-8\", k_css}};
  return kFiles;
}

}  // namespace ruv
")
  file(CONFIGURE OUTPUT ${made} CONTENT "${text}" @ONLY)
  set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${made})
endfunction()
