add_library(simdjson::simdjson INTERFACE IMPORTED GLOBAL)
target_link_libraries(simdjson::simdjson INTERFACE simdjson)
