// Options of an audit log that a server writes.
#pragma once

#include <memory>
#include <string>

#include "audit/audit_log.h"
#include "command_line.h"
#include "ruv/engine.h"

namespace ruv {

// What a server is asked to note, and where.
struct AuditCall {
  std::string folder;  // empty: no log
  std::string contents = "hashed";
  std::string key_file;   // empty: in the folder
  std::string seal_file;  // the open half; empty: kept contents are not sealed
  int64_t keep_days = 0;
  bool syncs = false;
};

// --audit and those that go with it.
void add_audit_flags(CommandLine& line, AuditCall& call);
// Whether one was given that goes with --audit.
bool has_audit_flags(const CommandLine& line);
// Null where no folder is given. Fails: invalid (--audit-contents), as AuditStore::open.
Result<std::unique_ptr<AuditLog>> open_audit(const AuditCall& call);

// An engine whose answers the log notes. `path` is the model's; its files are read once, with a
// progress bar. Fails: as files_digest.
Result<std::unique_ptr<Engine>> audited_engine(std::unique_ptr<Engine> engine, AuditLog& log,
                                               const std::string& path, const std::string& name,
                                               const EngineOptions& options);
// The digest of what `path` names, in hexadecimal digits, with a progress bar. Fails: as
// files_digest.
Result<std::string> shown_digest(const std::string& path, int n_threads);

}  // namespace ruv
