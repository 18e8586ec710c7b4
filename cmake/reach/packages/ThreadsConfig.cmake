add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)
