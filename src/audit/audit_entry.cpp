#include "audit/audit_entry.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "audit/audit_seal.h"
#include "audit/request_json.h"
#include "ruv/version.h"

namespace ruv {
namespace {

Digest content_digest(const EntryContents& contents, std::string_view purpose,
                      std::string_view bytes) {
  return keyed_digest_of(contents.salt, purpose, {as_bytes(bytes)});
}

// What of an engine decides the bytes of an answer. Threads, batches, caches and drafts do not.
Json engine_json(const AnsweringEngine& engine) {
  Json json = Json::object();
  json["version"] = RUV_VERSION;
  json["model_digest"] = engine.model_digest;
  json["kv"] = engine.kv_type;
  json["n_ctx"] = engine.n_ctx;
  json["isa"] = engine.isa;
  json["portable"] = is_portable_isa(engine.isa);
  return json;
}

// In the order in which a step adds them, which rounding depends on.
Json adapters_json(std::span<const AnsweringAdapter> adapters) {
  Json list = Json::array();
  for (const AnsweringAdapter& adapter : adapters) {
    Json json = Json::object();
    json["path"] = adapter.path;
    json["digest"] = adapter.digest;
    json["scale"] = static_cast<double>(adapter.scale);
    list.push_back(std::move(json));
  }
  return list;
}

// Milliseconds with three digits.
double rounded(double ms) { return std::round(ms * 1000) / 1000; }

Json times_json(const Timings& timings) {
  Json json = Json::object();
  json["queue_ms"] = rounded(timings.queue_ms);
  json["prefill_ms"] = rounded(timings.prefill_ms);
  json["decode_ms"] = rounded(timings.decode_ms);
  json["total_ms"] = rounded(timings.queue_ms + timings.prefill_ms + timings.decode_ms);
  return json;
}

Json counts_json(const Timings& timings, int64_t n_ids) {
  Json json = Json::object();
  json["prompt"] = timings.n_prompt_tokens;
  json["cached"] = timings.n_cached_tokens;
  json["answer"] = timings.n_generated_tokens;
  json["ids"] = n_ids;
  return json;
}

Json digests_json(const ContentDigests& digests) {
  Json json = Json::object();
  json["prompt"] = hex_of(digests.prompt);
  json["answer"] = hex_of(digests.answer);
  json["text"] = hex_of(digests.text);
  return json;
}

// Why it failed; with contents off only the code, as messages may quote what was asked.
Json error_json(const Status& status, AuditContents contents) {
  Json json = Json::object();
  json["code"] = code_name(status.code());
  if (contents != AuditContents::off) json["message"] = status.message();
  return json;
}

// Hidden states are compared as bytes, too: equal numbers have equal bits here.
EntryContents contents_of(const FinishedRequest& finished, const Salt& salt) {
  const bool is_hidden = finished.request.output == RequestOutput::hidden;
  return {.salt = salt,
          .prompt = bytes_of_ids(finished.request.prompt),
          .answer = is_hidden ? std::string(as_text(std::as_bytes(std::span(finished.hidden))))
                              : bytes_of_ids(finished.ids),
          .text = finished.text};
}

// Microseconds; 0 where it is not a number, or too large.
int64_t microseconds_in(const Json* ms) {
  const double us = std::round(real_number(ms).value_or(0) * 1000);
  return std::fabs(us) < 1e15 ? static_cast<int64_t>(us) : 0;
}

Json entry_head(std::string_view kind, int64_t unix_ms) {
  Json body = Json::object();
  body["kind"] = kind;
  body["time_ms"] = unix_ms;
  return body;
}

}  // namespace

// Names are those of the command line.
std::optional<AuditContents> find_audit_contents(std::string_view name) {
  const auto at = std::ranges::find(kAuditContentsNames, name) - kAuditContentsNames.begin();
  if (at == std::ssize(kAuditContentsNames)) return std::nullopt;
  return static_cast<AuditContents>(at);
}

std::string text_in(const Json& object, std::string_view name) {
  const Json* text = object.is_object() ? object.find(name) : nullptr;
  return text != nullptr && text->is_string() ? std::string(text->text()) : std::string();
}

std::optional<double> real_number(const Json* value) {
  if (value == nullptr || !value->is_number() || value->is_big_integer()) return std::nullopt;
  const double number = value->get<double>();
  return std::fabs(number) <= double{FLT_MAX} ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> whole_number(const Json* value) {
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  const bool is_too_large =
      value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX};
  return is_too_large ? std::nullopt : std::optional(value->get<int64_t>());
}

EntryColumns entry_columns(const Json& body) {
  const Json* times = body.find("times");
  const bool has_times = times != nullptr && times->is_object();
  return {.kind = text_in(body, "kind"),
          .request_id = text_in(body, "id"),
          .tenant = text_in(body, "tenant"),
          .model = text_in(body, "model"),
          .finish = text_in(body, "finish"),
          .time_ms = whole_number(body.find("time_ms")).value_or(0),
          .total_us = has_times ? microseconds_in(times->find("total_ms")) : 0};
}

ContentDigests digests_of(const EntryContents& contents) {
  return {.prompt = content_digest(contents, "ruvllm audit prompt", contents.prompt),
          .answer = content_digest(contents, "ruvllm audit answer", contents.answer),
          .text = content_digest(contents, "ruvllm audit text", contents.text)};
}

Result<std::optional<ContentDigests>> digests_in(const Json& body) {
  const Json* json = body.find("digests");
  if (json == nullptr) return std::optional<ContentDigests>();
  ContentDigests digests;
  for (const auto& [name, digest] : {std::pair{"prompt", &digests.prompt},
                                     {"answer", &digests.answer},
                                     {"text", &digests.text}}) {
    const Json* text = json->is_object() ? json->find(name) : nullptr;
    if (text == nullptr || !text->is_string())
      return fail(Code::corrupt, "entry: no digest of the {}", name);
    *digest = TRY(digest_from_hex(text->text(), name));
  }
  return std::optional(digests);
}

AuditEntry answer_entry(const FinishedRequest& finished, uint64_t number, AuditContents contents,
                        std::span<const AnsweringAdapter> adapters, const AuditKey& key,
                        const AuditSeal* seal) {
  AuditEntry entry{.body = entry_head("answer", finished.unix_ms)};
  Json& body = entry.body;
  const ServiceTerms& terms = finished.request.terms;
  body["id"] = terms.request_id;
  body["tenant"] = terms.tenant;
  body["model"] = finished.engine->model;
  body["engine"] = engine_json(*finished.engine);
  if (!adapters.empty()) body["adapters"] = adapters_json(adapters);
  const bool with_texts = contents != AuditContents::off;
  body["request"] =
      request_json(finished.request, with_texts ? RequestTexts::with : RequestTexts::without);
  if (finished.request.media) body["media"] = true;
  body["finish"] = finish_reason_name(finished.finish);
  if (!finished.status.ok()) body["error"] = error_json(finished.status, contents);
  body["tokens"] = counts_json(finished.timings, std::ssize(finished.ids));
  body["times"] = times_json(finished.timings);
  if (!with_texts) return entry;
  EntryContents kept = contents_of(finished, key.salt_of(number));
  body["digests"] = digests_json(digests_of(kept));
  if (contents != AuditContents::kept) return entry;
  if (seal == nullptr) {
    entry.contents = std::move(kept);
  } else {
    entry.sealed = seal->close(kept);
    body["sealed"] = hex_of(sealed_digest(entry.sealed));
  }
  return entry;
}

// Both kinds of notes are entries like all others, so that they are signed and cannot be added
// later by someone without the key.
AuditEntry gap_entry(int64_t n, int64_t unix_ms) {
  AuditEntry entry{.body = entry_head("gap", unix_ms)};
  entry.body["lost"] = n;
  return entry;
}

AuditEntry removal_entry(int64_t last, int64_t unix_ms) {
  AuditEntry entry{.body = entry_head("removal", unix_ms)};
  entry.body["last"] = last;
  return entry;
}

AuditEntry rating_entry(const AnswerRating& rating, int64_t unix_ms) {
  AuditEntry entry{.body = entry_head("rating", unix_ms)};
  entry.body["id"] = rating.request_id;
  entry.body["tenant"] = rating.tenant;
  entry.body["quality"] = rating.quality;
  return entry;
}

std::optional<double> quality_in(const Json& body) {
  if (!body.is_object() || text_in(body, "kind") != "rating") return std::nullopt;
  return real_number(body.find("quality"));
}

AuditEntry retrieval_entry(const MemoryRetrieval& retrieval, int64_t unix_ms,
                           AuditContents contents) {
  AuditEntry entry{.body = entry_head("retrieval", unix_ms)};
  entry.body["id"] = retrieval.request_id;
  entry.body["tenant"] = retrieval.tenant;
  entry.body["store"] = retrieval.store;
  Json chunks = Json::array();
  for (const MemoryRetrieval::Chunk& chunk : retrieval.chunks) {
    Json json = {{"id", chunk.id}, {"score", chunk.score}};
    if (contents != AuditContents::off) json["document"] = chunk.document;
    chunks.push_back(std::move(json));
  }
  entry.body["chunks"] = std::move(chunks);
  return entry;
}

std::string bytes_of_ids(std::span<const Token> ids) {
  static_assert(sizeof(Token) == 4);
  return std::string(as_text(std::as_bytes(ids)));
}

Result<std::vector<Token>> ids_of_bytes(std::string_view bytes) {
  if (bytes.size() % sizeof(Token) != 0)
    return fail(Code::corrupt, "{} bytes do not divide into ids", bytes.size());
  std::vector<Token> ids(bytes.size() / sizeof(Token));
  if (!ids.empty()) std::memcpy(ids.data(), bytes.data(), bytes.size());
  return ids;
}

}  // namespace ruv
