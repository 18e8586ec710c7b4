// The version of these headers, for the preprocessor. CMakeLists.txt takes the project's from here.
#pragma once

#define RUV_VERSION "0.1.0"
#define RUV_VERSION_MAJOR 0
#define RUV_VERSION_MINOR 1
#define RUV_VERSION_PATCH 0
