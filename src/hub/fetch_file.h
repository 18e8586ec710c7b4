// fetch_file: one file over HTTP in parallel ranges, that continues where an earlier process ended
// and gets its name only when its digest is right.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/digest.h"
#include "hub/hub_http.h"
#include "hub/transfer.h"

namespace ruv {

struct FetchCall {
  std::string url;
  std::string name;  // for messages: the file's path in its repository
  std::string path;  // of the finished file; what is unfinished lies beside it
  // The beginning of the file from another program, which is taken over; empty: none.
  std::string begun_path = {};
  uint64_t n_bytes = 0;
  FileDigest digest = {};
  int connections = 6;
  // What one request asks for. Progress inside it is noted as well.
  uint64_t piece_bytes = 16 << 20;
  std::vector<std::string> headers = {};
  // Called with the file's bytes that are here. False: stop.
  std::function<bool(uint64_t n_here)> watch = {};
};

// Memory: about 1 MB and half a MB for each connection. Requires: one caller for a path at a time
// (FileLock). Fails: corrupt (a digest that does not match, after which nothing is left; a server
// that does not keep to HTTP), unavailable (the connection broke too many times; the next call
// continues), cancelled, out_of_memory (no room on the disk), and as status_of_answer.
Status fetch_file(HubHttp& http, const FetchCall& call);

// What lies beside a file's path while it is fetched.
std::string unfinished_path(const std::string& path);
std::string journal_path(const std::string& path);
// How much of an unfinished file is here, as its journal says; 0 where there is no such file.
int64_t fetched_bytes(const std::string& path);

// Whether a file that fetch_file named may be used: after a loss of power its bytes, which did not
// wait for the disk, are verified again, and removed when they are wrong. Fails: corrupt (it was
// removed), internal.
Status check_after_power_loss(const std::string& path, const FileDigest& digest);

}  // namespace ruv
