add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
