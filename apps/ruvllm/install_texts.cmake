# What the program says of itself, where shells and man look for it. RUV_INSTALLED_PROGRAM runs it: not "program",
# the name of a component, which old rules of CMake would take for the variable.
set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
file(MAKE_DIRECTORY "${share}/man/man1" "${share}/bash-completion/completions"
     "${share}/zsh/site-functions" "${share}/fish/vendor_completions.d")
set(ENV{RUVLLM_CONFIG} off)
execute_process(COMMAND ${RUV_INSTALLED_PROGRAM} man --all "${share}/man/man1" COMMAND_ERROR_IS_FATAL ANY)
foreach(pair bash:bash-completion/completions/ruvllm zsh:zsh/site-functions/_ruvllm
        fish:fish/vendor_completions.d/ruvllm.fish)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 shell)
  list(GET pair 1 file)
  execute_process(COMMAND ${RUV_INSTALLED_PROGRAM} completion ${shell} OUTPUT_FILE "${share}/${file}"
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
