// push_model: files into a repository of a hub, as one commit.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/digest.h"
#include "hub/hub_http.h"
#include "hub/transfer.h"

namespace ruv {

// A file on this machine, or a text that is made here.
struct PushFile {
  std::string path;       // in the repository
  std::string from = {};  // the file; empty: `text`
  std::string text = {};
  uint64_t n_bytes = 0;  // this and the digest are set by describe_file
  std::string sha256 = {};
};
// Reads all of the file. `goes_on` false: stop. Fails: as MappedFile::open, cancelled.
Status describe_file(PushFile& file, const std::function<bool()>& goes_on);

// What the hub has before a push.
struct PushTarget {
  std::string repo;
  bool exists = false;
  bool has_card = false;           // README.md
  std::string commit = {};         // empty: it does not exist
  std::vector<std::string> there;  // paths of the files that it has already, byte for byte
};
// Fails: as the hub's answers, invalid (no repository's name).
Result<PushTarget> look_at_target(HubHttp& http, const std::string& repo,
                                  const std::vector<PushFile>& files);

struct PushOptions {
  bool is_private = false;   // where the repository is made
  std::string summary = {};  // of the commit
  TransferWatch watch = {};
};
struct PushedModel {
  std::string commit;      // that has all files
  bool is_new = false;     // the repository was made
  size_t n_committed = 0;  // files that the commit adds or changes; 0: there is no new one
  uint64_t n_sent = 0;     // bytes of their contents that the hub did not have
};

// Sends what the hub does not have, then makes the commit: what was interrupted continues with the
// next call, contents that arrived whole are not sent again. The repository is made where it does
// not exist. Requires: described files, at most kMaxUploadFiles, a target of look_at_target. Fails:
// invalid (no token, or the hub refuses), corrupt (answers that make no sense), unavailable (the
// connection broke too many times), cancelled.
Result<PushedModel> push_model(HubHttp& http, const PushTarget& target,
                               const std::vector<PushFile>& files, const PushOptions& options);

}  // namespace ruv
