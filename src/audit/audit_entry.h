// AuditEntry: a row of an audit log. Its body is JSON, and what is signed is the digest of the
// body's bytes and the entry's number.
//
// Contents (the prompt, the answer) are beside the body, which has their digests: they can be
// removed without a gap in the log. Salts keep digests of short texts from being guessed.
#pragma once

#include <optional>

#include "audit/audit_key.h"
#include "audit/finished_request.h"
#include "base/json.h"

namespace ruv {

class AuditSeal;

// How much of a request a log keeps.
enum class AuditContents : uint8_t {
  off,     // sizes, times and numeric options; nothing that texts could be guessed from
  hashed,  // also the request's texts for options, and digests of prompt and answer
  kept,    // also prompt and answer
};
inline constexpr std::array<std::string_view, 3> kAuditContentsNames{"off", "hashed", "kept"};
std::optional<AuditContents> find_audit_contents(std::string_view name);

// The bytes of prompt and answer.
struct EntryContents {
  Salt salt = {};
  std::string prompt;  // ids, 4 bytes each, little-endian
  std::string answer;  // ids; for hidden states float32
  std::string text;    // the answer's, UTF-8
};

struct AuditEntry {
  Json body;
  // Contents that are kept, in one of two forms.
  std::optional<EntryContents> contents = {};
  std::string sealed = {};  // AuditSeal
};

// What queries look for, as the body says it; empty and 0 where it does not.
struct EntryColumns {
  std::string kind, request_id, tenant, model, finish;
  int64_t time_ms = 0;
  int64_t total_us = 0;  // from submission to the end
  bool operator==(const EntryColumns&) const = default;
};
EntryColumns entry_columns(const Json& body);

// How members of entries are read, which may be of any type where someone has the key.
//
// The text of a member; empty where there is none.
std::string text_in(const Json& object, std::string_view name);
// A number that float can hold; nothing where the value is another, or null.
std::optional<double> real_number(const Json* value);
// A whole number that 64 bits with a sign hold; nothing where the value is another, or null.
std::optional<int64_t> whole_number(const Json* value);

// The digest of contents that an entry has, and whose it is. Their purposes keep them apart.
struct ContentDigests {
  Digest prompt, answer, text;
  bool operator==(const ContentDigests&) const = default;
};
ContentDigests digests_of(const EntryContents& contents);
// What the body says; nothing where it has none. Fails: corrupt.
Result<std::optional<ContentDigests>> digests_in(const Json& body);

// The entry of an answer under this number. `adapters`: those of finished.adapters. `seal`: what
// kept contents are sealed with; null: they are not.
AuditEntry answer_entry(const FinishedRequest& finished, uint64_t number, AuditContents contents,
                        std::span<const AnsweringAdapter> adapters, const AuditKey& key,
                        const AuditSeal* seal);
// That `n` answers are not in the log, as more ended than it could write, or writing failed.
AuditEntry gap_entry(int64_t n, int64_t unix_ms);
// That entries up to `last` were removed on purpose.
AuditEntry removal_entry(int64_t last, int64_t unix_ms);

// How good someone found an answer.
struct AnswerRating {
  std::string request_id = {}, tenant = {};  // of the answer
  double quality = 0;                        // 0: useless, 1: as wanted
};
AuditEntry rating_entry(const AnswerRating& rating, int64_t unix_ms);
// The quality that a rating's body says; nothing where the body has another kind.
std::optional<double> quality_in(const Json& body);

// What a search of a memory gave for a request.
struct MemoryRetrieval {
  std::string request_id = {}, tenant = {};
  struct Chunk {
    int64_t id = 0;             // in its store
    std::string document = {};  // its name
    double score = 0;
  };
  std::string store = {};  // the folder's name
  std::vector<Chunk> chunks = {};
};
// Names of documents are there unless contents are off.
AuditEntry retrieval_entry(const MemoryRetrieval& retrieval, int64_t unix_ms,
                           AuditContents contents);

// Ids and numbers as contents have them.
std::string bytes_of_ids(std::span<const Token> ids);
// Fails: corrupt (no whole number of ids).
Result<std::vector<Token>> ids_of_bytes(std::string_view bytes);

}  // namespace ruv
