# `cpack -G DEB` in a build folder writes ruvllm_VERSION_ARCH.deb: the program, its built-in model, the
# unit for systemd, manual pages; libruvllm-dev_VERSION_ARCH.deb: headers and the static library; and
# libruvllm-c_VERSION_ARCH.deb: the C interface as a shared library and its header.
# The dependencies are those that dpkg-shlibdeps finds, so a package fits the release it was built on.
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/ruvllm.service DESTINATION lib/systemd/system)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/ruvllm)

set(CPACK_PACKAGE_NAME ruvllm)
set(CPACK_PACKAGE_VENDOR RuvLLM)
set(CPACK_PACKAGE_CONTACT "The authors of RuvLLM")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "local engine and server for language models")
set(CPACK_COMPONENTS_ALL program library c)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ruvllm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
    "Runs models in GGUF and safetensors files on the CPU and serves them by the
APIs of OpenAI, Anthropic and Ollama. A small built-in model answers at once.")
# Programs that act as tools run in its sandbox.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "ca-certificates, bubblewrap")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libruvllm-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
    "libexpected-dev, libfmt-dev, libsimdjson-dev, libsodium-dev, libutf8proc-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
    "Headers, a static library, a CMake package and a pkg-config file for C++ programs.")
set(CPACK_DEBIAN_C_PACKAGE_NAME libruvllm-c)
set(CPACK_DEBIAN_C_PACKAGE_SECTION libdevel)
# Its built-in model is the program's.
set(CPACK_DEBIAN_C_PACKAGE_RECOMMENDS ruvllm)
set(CPACK_DEBIAN_C_DESCRIPTION
    "The C interface: a shared library, its header and a pkg-config file for programs
in C and languages that call C.")
include(CPack)
