add_library(Boost::headers INTERFACE IMPORTED GLOBAL)
