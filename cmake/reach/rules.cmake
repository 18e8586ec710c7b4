# Sources are only checked, as nothing runs or links them: code would take half as long again. What the
# build expects as archives of their objects are empty files. RUV_COMPILE_OBJECT is the command of a
# folder that needs output (a compiled header).
set(RUV_COMPILE_OBJECT "<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>")
set(CMAKE_CXX_COMPILE_OBJECT "${RUV_COMPILE_OBJECT} -fsyntax-only")
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_COMMAND> -E touch <TARGET>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
