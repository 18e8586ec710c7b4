// Everything that the program keeps on disk: where it is, how large, what it is good for, and what
// of it may be removed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hub/hub_cache.h"

namespace ruv {

// Where it looks. Empty: there is no such place.
struct KeptPlaces {
  std::string packed;  // the folder of packed weights
  std::string cache;   // of prefixes, sessions and responses
  std::string data;    // of the history, of names and of documents
  std::string config;  // the configuration file
  std::string hub;     // the hub's cache
  std::string ollama;  // Ollama's folders
};

// usual: made again when it is needed. named: removed only when it is named. never: something else
// removes it.
enum class Cleaning : uint8_t { usual, named, never };

struct KeptData {
  std::string name;  // "packed"
  std::string what;  // for a table
  std::string path;
  Cleaning cleaning = Cleaning::usual;
  std::string remover = {};  // "`ruvllm rm`": of what is never removed here
  int64_t n_bytes = 0;
  int64_t n_files = 0;
};
std::vector<KeptData> kept_data(const KeptPlaces& places);
// In the order of kept_data.
std::vector<std::string> kept_names();

struct CleanedData {
  int64_t n_bytes = 0;
  int64_t n_files = 0;
  std::vector<std::string> busy = {};   // paths that a running process uses, which stay
  std::vector<std::string> notes = {};  // why something else stays
};
// Removes what has the name. `dry`: only counts. Fails: invalid (never removed here), internal.
// Requires: the name is one of kept_names().
Result<CleanedData> clean_kept(const KeptPlaces& places, const std::string& name, bool dry);

}  // namespace ruv
