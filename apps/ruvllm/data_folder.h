// The folder of what the program keeps for its user and could not make again.
#pragma once

#include <string>

namespace ruv {

// $XDG_DATA_HOME/ruvllm or ~/.local/share/ruvllm; empty: the user has no home.
std::string default_data_folder();
// The file of the names that `ruvllm tag` gives; empty likewise.
std::string local_names_file();

}  // namespace ruv
