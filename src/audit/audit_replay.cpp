#include "audit/audit_replay.h"

#include <algorithm>

#include "audit/file_digests.h"
#include "audit/request_json.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

// Why an entry cannot be run again; nothing: it can.
using Obstacle = std::optional<std::string>;

Result<Json> answer_body(const AuditStore& store, int64_t number) {
  Json body = TRY(parse_json(TRY(store.body(number)), fmt::format("entry {}", number),
                             {.depth = 64, .values = 1'000'000}));
  if (!body.is_object()) return fail(Code::corrupt, "entry {}: not a JSON object", number);
  const std::string kind = text_in(body, "kind");
  if (kind != "answer") {
    return fail(Code::invalid, "entry {} is not an answer but a note of the log's own ({})", number,
                kind);
  }
  return body;
}

std::string first_difference(std::string_view expected, std::string_view got, size_t unit) {
  const auto [at, ignored] = std::ranges::mismatch(expected, got);
  const auto place = static_cast<size_t>(at - expected.begin()) / unit;
  return fmt::format("{} of {} (now {}) is the first that differs", place + 1,
                     expected.size() / unit, got.size() / unit);
}

}  // namespace

// What an entry asks for, and what it says of the answer.
struct AuditReplay::Wanted {
  Request request;
  EntryContents contents;  // of the answer only what was kept
  ContentDigests digests;
  bool has_answer = false;  // contents.answer and contents.text are the log's
  bool is_cut_off = false;  // its end came from outside: what there is must be a beginning
  int64_t n_ids = 0;        // of the answer
};

Result<ReplayEntry> replay_entry(const AuditStore& store, int64_t number) {
  const Json body = TRY(answer_body(store, number));
  const Json& engine = body["engine"];
  ReplayEntry entry{.number = number, .kv_type = text_in(engine, "kv")};
  const auto n_ctx = whole_number(engine.is_object() ? engine.find("n_ctx") : nullptr);
  const Json* portable = engine.is_object() ? engine.find("portable") : nullptr;
  if (!n_ctx || portable == nullptr || !portable->is_boolean())
    return fail(Code::corrupt, "entry {}: 'engine' does not say what ran", number);
  entry.n_ctx = *n_ctx;
  entry.is_portable = portable->get<bool>();
  return entry;
}

// What does not follow from the entry.
Result<Obstacle> AuditReplay::prepare(const Json& body, Wanted& wanted) {
  const Json& engine = body["engine"];
  const std::string digest = text_in(engine, "model_digest");
  if (digest != model_digest_) {
    return Obstacle(fmt::format("the model that answered has the digest {}, not {} as the one here",
                                digest.empty() ? "that is not known" : digest.substr(0, 16),
                                model_digest_.substr(0, 16)));
  }
  const std::string_view kv = kv_type_name(engine_.kv_stats().type);
  if (text_in(engine, "kv") != kv) {
    return Obstacle(fmt::format("its keys and values were {}, and this engine's are {}",
                                text_in(engine, "kv"), kv));
  }
  const std::string isa = model_info(*model_).isa;
  const std::string isa_then = text_in(engine, "isa");
  if (is_portable_isa(isa_then) != is_portable_isa(isa)) {
    return Obstacle(
        fmt::format("it was computed by {}, whose bytes {} does not give", isa_then, isa));
  }
  if (body.contains("media"))
    return Obstacle("its prompt had images or sounds, which are not kept");
  const Json* request = body.find("request");
  if (request == nullptr) return fail(Code::corrupt, "entry: it has no request");
  if (!body.contains("digests"))
    return Obstacle("the log keeps no contents and no digests of them");
  ReadRequest read = TRY(read_request_json(*request));
  wanted.request = std::move(read.request);
  if (wanted.request.params.max_predict_ms > 0)
    return Obstacle("its end depended on the time (t_max_predict_ms)");
  if (read.form) wanted.request.form = TRY(engine_.load_form(*read.form));
  const std::string finish = text_in(body, "finish");
  wanted.is_cut_off = finish == "cancelled" || finish == "error";
  const Json* tokens = body.find("tokens");
  const bool has_counts = tokens != nullptr && tokens->is_object();
  wanted.n_ids = whole_number(has_counts ? tokens->find("ids") : nullptr).value_or(0);
  return take_adapters(body, wanted.request);
}

// An adapter is loaded from where it was, if its files have the digest that they had then. Loaded
// ones are kept by digest: entries of one user mostly share them.
Result<Obstacle> AuditReplay::take_adapters(const Json& body, Request& request) {
  request.adapters.emplace();
  const Json* list = body.find("adapters");
  if (list == nullptr) return Obstacle();
  if (!list->is_array()) return fail(Code::corrupt, "entry: 'adapters' is not a list");
  for (const Json& one : *list) {
    const std::string digest = text_in(one, "digest");
    const std::string path = text_in(one, "path");
    const auto scale = real_number(one.is_object() ? one.find("scale") : nullptr);
    if (!scale) return fail(Code::corrupt, "entry: an adapter without a scale");
    std::shared_ptr<const LoadedAdapter>& loaded = adapters_[digest];
    if (!loaded) {
      const auto now = files_digest(path, pool_);
      if (!now || digest.empty() || hex_of(*now) != digest)
        return Obstacle(fmt::format("adapter {} is not there as it was then", path));
      loaded = TRY(load_adapter(model_, path, 1));
    }
    request.adapters->push_back({loaded, static_cast<float>(*scale)});
  }
  return Obstacle();
}

// Contents that the log kept must have the entry's digests before anything is run: else the answer
// would be compared with what someone else wrote. A prompt from outside must have the digest, too.
Result<Obstacle> AuditReplay::take_contents(const Json& body, Wanted& wanted,
                                            const std::vector<Token>* prompt, const AuditKey* key) {
  wanted.digests = *TRY(digests_in(body));
  if (wanted.has_answer && digests_of(wanted.contents) != wanted.digests)
    return Obstacle("its contents were changed: run `ruvllm audit verify`");
  if (prompt != nullptr) wanted.contents.prompt = bytes_of_ids(*prompt);
  if (prompt == nullptr && !wanted.has_answer)
    return Obstacle(body.find("sealed") != nullptr
                        ? "its contents are sealed: give the key that opens them, or its prompt"
                        : "the log does not have its prompt: give it");
  if (!wanted.has_answer && key == nullptr)
    return Obstacle("digests can only be compared with the log's key");
  const Digest found = digests_of(wanted.contents).prompt;
  if (found != wanted.digests.prompt) return Obstacle("this is not the prompt that it had");
  wanted.request.prompt = TRY(ids_of_bytes(wanted.contents.prompt));
  return Obstacle();
}

Result<Replay> AuditReplay::run(int64_t entry, const std::vector<Token>* prompt,
                                const AuditKey* key) {
  const Json body = TRY(answer_body(store_, entry));
  Wanted wanted;
  if (Obstacle why = TRY(prepare(body, wanted)))
    return Replay{.entry = entry, .why = std::move(*why)};
  std::optional<EntryContents> kept = TRY(store_.contents(entry));
  wanted.has_answer = kept.has_value();
  if (kept) {
    wanted.contents = std::move(*kept);
  } else if (key != nullptr) {
    wanted.contents.salt = key->salt_of(static_cast<uint64_t>(entry));
  }
  if (Obstacle why = TRY(take_contents(body, wanted, prompt, key)))
    return Replay{.entry = entry, .why = std::move(*why)};
  return compare(entry, std::move(wanted));
}

// An answer that was cut off is compared as far as it went, and ended there.
Result<Replay> AuditReplay::compare(int64_t entry, Wanted wanted) {
  EntryContents now{
      .salt = wanted.contents.salt, .prompt = wanted.contents.prompt, .answer = {}, .text = {}};
  std::vector<Token> ids;
  const bool is_hidden = wanted.request.output == RequestOutput::hidden;
  Replay replay{.entry = entry, .result = ReplayResult::different};
  Stream stream = TRY(engine_.stream(std::move(wanted.request)));
  while (std::optional<Event> event = stream.next()) {
    if (wanted.is_cut_off && std::ssize(ids) + std::ssize(event->ids) >= wanted.n_ids)
      stream.cancel();
    ids.insert(ids.end(), event->ids.begin(), event->ids.end());
    now.text += event->text;
    if (is_hidden && event->finish != FinishReason::none)
      now.answer = std::string(as_text(std::as_bytes(std::span(event->hidden))));
    if (event->finish != FinishReason::error) continue;
    replay.result = ReplayResult::not_run;
    replay.why = event->status.message();
    return replay;
  }
  if (wanted.is_cut_off && std::ssize(ids) > wanted.n_ids)
    ids.resize(static_cast<size_t>(wanted.n_ids));
  if (!is_hidden) now.answer = bytes_of_ids(ids);
  const ContentDigests digests = digests_of(now);
  // The text of a cut answer may have been held back at its end, so that ids alone are compared.
  const bool same_text = wanted.is_cut_off || digests.text == wanted.digests.text;
  if (digests.answer == wanted.digests.answer && same_text) {
    replay.result = ReplayResult::same;
    return replay;
  }
  if (digests.answer == wanted.digests.answer) {
    replay.why = "the ids are the same, but not their text";
  } else if (wanted.has_answer) {
    replay.why = (is_hidden ? "number " : "token ") +
                 first_difference(wanted.contents.answer, now.answer, sizeof(Token));
  } else {
    replay.why = "the answer has another digest";
  }
  return replay;
}

}  // namespace ruv
