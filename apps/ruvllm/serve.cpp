// ruvllm serve: serves models over the OpenAI API until SIGINT or SIGTERM.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "api_key.h"
#include "audit_flags.h"
#include "base/freed_memory.h"
#include "base/machine.h"
#include "base/open_files.h"
#include "cache_folder.h"
#include "command_line.h"
#include "commands.h"
#include "grpc_door.h"
#include "key_source.h"
#include "memory/postgres_store.h"
#include "net/http/access.h"
#include "net/http/endpoint.h"
#include "net/http/server.h"
#include "net/memory/served_memory.h"
#include "net/memory/session_search.h"
#include "net/metrics.h"
#include "net/openai/routes.h"
#include "net/openai/sessions.h"
#include "net/responses/response_store.h"
#include "open_engine.h"
#include "open_model.h"
#include "request_log.h"
#include "served_model.h"
#include "terminal.h"

namespace ruv {
namespace {

struct ServeCall {
  std::vector<std::string> models;
  std::string models_dir;
  int64_t model_mebibytes = 0;  // 0: usual_model_bytes()
  int64_t keep_seconds = -1;    // negative: while there is room
  LoadCall load;
  ServedAdapters adapters;
  LearnCall learn;
  ServedMemoryOptions memory;
  std::string memory_key;
  int64_t memory_mebibytes = 1024, memory_file_mebibytes = 1024;
  AuditCall audit;
  std::string alias;
  bool lenient = false;
  bool no_key = false;
  bool no_page = false;
  GenerateParams sampling;
  std::string log = "text";
  std::string log_file;
  bool log_prompts = false;
  CacheFolder cache;
  int64_t session_days = 0;  // 0: for ever
  int64_t port = 8080;
  ApiKeySource api_key;
  TlsFiles tls;
  std::string grpc;  // empty: no gRPC
  ServerOptions server;
  EngineOptions engine;
};

std::string url_of(const HttpServer& server, const ServerOptions& options) {
  if (!options.socket_file.empty()) return "unix:" + options.socket_file;
  const std::string& host = options.host;
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", options.tls ? "https" : "http",
                     is_v6 ? fmt::format("[{}]", host) : host, server.port());
}

// "127.0.0.1:50051" with the port that was taken; empty: there is none.
std::string grpc_url(const ServeCall& call, const RpcServer* grpc) {
  if (grpc == nullptr) return {};
  return fmt::format("{}:{}", call.grpc.substr(0, call.grpc.rfind(':')), grpc->port());
}

// "in int8", and why not where that would be the default.
std::string kv_text(const Engine& engine, const ServeCall& call) {
  const KvType type = engine.kv_stats().type;
  const int64_t head_dim = model_info(engine.model()).head_dim;
  const bool is_narrow = !call.engine.kv.type && head_dim < kNarrowHead;
  return fmt::format("in {}{}", kv_type_name(type),
                     is_narrow ? fmt::format(" as heads are only {} wide", head_dim) : "");
}

Result<std::unique_ptr<RequestLog>> open_log(const ServeCall& call) {
  if (call.log != "text" && call.log != "json" && call.log != "off")
    return fail(Code::invalid, "--log '{}' is none of text, json and off", call.log);
  return RequestLog::open(call.log == "off" ? nullptr : stderr,
                          call.log == "json" ? RequestLog::Form::json : RequestLog::Form::text,
                          call.log_file);
}

// Texts may have any bytes, so that only their number is shown, unless they are words of the row.
std::string value_text(const OptionRow& row, const OptionValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:g}", *number);
  const auto& texts = std::get<std::vector<std::string>>(value);
  if (!row.words.empty()) return fmt::format("[{}]", fmt::join(texts, " "));
  return fmt::format("of {} texts", texts.size());
}

// "temperature 0.8, top_k 40": what differs from the model's own distribution.
std::string sampling_text(const GenerateParams& params) {
  const GenerateParams none{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};
  std::string text;
  for (const OptionRow& row : generate_options()) {
    const OptionValue value = row.get(params);
    if (!row.is_sampling || (value == row.get(none) && row.name != std::string_view("temperature")))
      continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.name, value_text(row, value));
  }
  return text;
}

// The keys of the file as it is now; nothing where it cannot be read, and the old ones stay.
std::optional<ApiKeys> reloaded_keys(const CommandLine& line, const ApiKeySource& source) {
  Result<ApiKeys> keys = keys_in_file(source);
  if (!keys) {
    line.note(keys.error().message() + "; the keys stay as they were");
    return std::nullopt;
  }
  line.note(fmt::format("{} keys from {}", keys->size(), source.file));
  return std::move(*keys);
}

// The same for the certificate. A file that is renewed before its key is refused until both are.
std::shared_ptr<const TlsContext> reloaded_tls(const CommandLine& line, const TlsFiles& files) {
  auto tls = TlsContext::load(files);
  if (!tls) {
    line.note(tls.error().message() + "; the certificate stays as it was");
    return nullptr;
  }
  line.note(fmt::format("certificate {}", (*tls)->description()));
  return *tls;
}

// What SIGHUP reads again.
void set_reload(const CommandLine& line, ServeCall& call) {
  const bool has_keys = line.given("--api-key-file");
  if (!has_keys && !call.server.tls) return;
  call.server.reload = [&line, &call, has_keys] {
    Reloaded reloaded;
    if (has_keys) reloaded.api_keys = reloaded_keys(line, call.api_key);
    if (!call.tls.empty()) reloaded.tls = reloaded_tls(line, call.tls);
    return reloaded;
  };
}

// Each connection takes a file descriptor; some are left for files.
void limit_connections(const CommandLine& line, int64_t& max_connections) {
  constexpr int64_t kOtherFiles = 512;
  const int64_t n_files = raise_open_file_limit(max_connections + kOtherFiles);
  const int64_t n = std::max<int64_t>(n_files / 2, n_files - kOtherFiles);
  if (n >= max_connections) return;
  if (line.given("--max-connections")) {
    line.note(
        fmt::format("at most {} connections, as the system lets this process open {} files "
                    "(ulimit -Hn)",
                    n, n_files));
  }
  max_connections = n;
}

// The files of sessions and of kept responses, and the threads that write them; without a cache
// folder there are none.
class KeptFiles {
 public:
  static Result<std::unique_ptr<KeptFiles>> open(const CommandLine& line, const CacheFolder& cache,
                                                 ServerParts& parts) {
    auto kept = std::make_unique<KeptFiles>();
    if (cache.path.empty()) return kept;
    kept->sessions_ = TRY(open_sessions(line, cache));
    kept->responses_ = TRY(open_responses(line, cache));
    kept->session_keeper_ = std::make_unique<SessionKeeper>(*kept->sessions_);
    kept->response_keeper_ = std::make_unique<SessionKeeper>(*kept->responses_);
    parts.sessions = kept->session_keeper_.get();
    parts.responses->keep_in(*kept->response_keeper_,
                             [&line](std::string_view text) { line.note(text); });
    return kept;
  }
  // Also what a memory has of those that are removed.
  void keep_sessions_for(int64_t days, const ServerParts& parts) {
    constexpr int64_t kDay = 86'400;
    if (session_keeper_ == nullptr) return;
    session_keeper_->keep_for(days * kDay, parts.unix_time,
                              [memory = parts.memory](const SessionInfo& info) {
                                // What fails is taken out by the next search.
                                (void)forget_session(memory, info.user, info.name);
                              });
  }
  // Writes what waits.
  void close() {
    session_keeper_.reset();
    response_keeper_.reset();
  }

 private:
  std::unique_ptr<SessionStore> sessions_, responses_;
  std::unique_ptr<SessionKeeper> session_keeper_, response_keeper_;
};

// The documents that clients keep; null: none are kept.
Result<std::unique_ptr<ServedMemory>> open_memory(const ServeCall& call) {
  if (call.memory.folder.empty()) return nullptr;
  ServedMemoryOptions options = call.memory;
  options.shelf.max_bytes = call.memory_mebibytes << 20;
  options.max_file_bytes = call.memory_file_mebibytes << 20;
  options.shelf.key = TRY(read_key("--memory-key", call.memory_key));
  return ServedMemory::open(options);
}

// Three quarters of the memory, as keys and values of a model get a quarter of it at most.
int64_t usual_model_bytes() { return machine_memory_bytes() / 4 * 3; }

ModelPoolOptions pool_options(const CommandLine& line, const ServeCall& call) {
  ModelPoolOptions options;
  options.max_bytes = call.model_mebibytes > 0 ? call.model_mebibytes << 20 : usual_model_bytes();
  if (call.keep_seconds >= 0) options.keep = call.keep_seconds;
  options.note = [&line](std::string_view text) { line.note(text); };
  return options;
}

// A model loses the names that another has already, as copies of a file have the same name inside.
// Fails where that is its first name.
Status take_names(const std::vector<ModelSource>& sources, ModelSource& added) {
  const std::string first = added.names.front();
  for (const ModelSource& other : sources) {
    std::erase_if(added.names, [&](const std::string& name) {
      return std::ranges::find(other.names, name) != other.names.end();
    });
  }
  if (!added.names.empty() && added.names.front() == first) return {};
  return fail(Code::invalid,
              "two models have the name '{}': give one another, as in --model other=MODEL", first);
}

// Those of --model must be usable; those of --models-dir that are not are named and left out.
Status add_models(const CommandLine& line, const ServeCall& call, const ServedModelCall& served,
                  const ServerParts& parts, ModelPool& pool) {
  std::vector<NamedModel> given;
  for (const std::string& text : call.models) given.push_back(TRY(named_model(text)));
  const size_t n_given = given.size();
  if (!call.models_dir.empty()) {
    for (NamedModel& model : TRY(models_in(call.models_dir))) given.push_back(std::move(model));
  }
  if (given.empty()) given.push_back({.chosen = TRY(chosen_model(""))});
  if (!call.alias.empty()) given.front().name = call.alias;
  if (given.size() == 1) {
    pool.add(only_source(served, parts, given.front()));
    return {};
  }
  std::vector<ModelSource> sources;
  for (size_t i = 0; i < given.size(); ++i) {
    Result<ModelSource> source = model_source(served, parts, given[i], sources.empty());
    if (source) {
      if (Status clash = take_names(sources, *source); !clash.ok()) source = tl::unexpected(clash);
    }
    if (source) {
      sources.push_back(std::move(*source));
    } else if (i < n_given || call.models_dir.empty()) {
      return source.error();
    } else {
      line.note(fmt::format("{} is left out: {}", given[i].chosen.path, source.error().message()));
    }
  }
  if (sources.empty()) {
    return fail(Code::not_found, "--models-dir {}: no model there can be used", call.models_dir);
  }
  if (sources.size() > 1 && !(call.adapters.lora.empty() && call.adapters.modules.empty())) {
    return fail(Code::invalid, "--lora and --lora-modules go with one model; {} are given",
                sources.size());
  }
  if (sources.size() > 1 && !call.learn.folder.empty()) {
    return fail(Code::invalid, "--learn goes with one model; {} are given", sources.size());
  }
  if (sources.size() > 1 && !call.load.draft_model.empty()) {
    return fail(Code::invalid, "--draft-model goes with one model; {} are given", sources.size());
  }
  for (ModelSource& source : sources) pool.add(std::move(source));
  return {};
}

// An address that other machines reach needs a key, or the word that it needs none.
Status check_reach(const ServeCall& call, const std::string& flag, const std::string& host) {
  if (!call.server.api_keys.empty() || call.no_key || is_loopback(host)) return {};
  return fail(Code::invalid,
              "{} {} lets other machines use this server: give a key (--api-key-file, "
              "RUVLLM_API_KEY), or say --no-key",
              flag, host);
}

// Null where it is not asked for.
Result<std::unique_ptr<RpcServer>> grpc_server(const ServeCall& call, HttpServer& server,
                                               const ServedModels& models) {
  if (call.grpc.empty()) return nullptr;
  return open_grpc(call.grpc, call.tls, server, call.server, models);
}

// Which model is loaded, what requests are sampled with, and where the server listens.
void print_start(const ServeCall& call, const OpenAiService& first, size_t n_models,
                 const std::string& url, const std::string& grpc_url) {
  const Engine& engine = *first.engine;
  const ModelInfo& info = first.text->info();
  const bool is_as_usual = info.sampling.empty() && info.defaults.sampling.empty();
  if (!is_quiet())
    fmt::print(stderr,
               "model {}, context {} tokens, {} answers at a time, keys and values {}\n"
               "sampling {}: {}\n",
               first.names.front(), engine.n_ctx(), call.engine.max_sequences,
               kv_text(engine, call), is_as_usual ? "as usual" : "as the model says",
               sampling_text(first.usual));
  const size_t n_more = n_models - 1;
  if (n_more > 0 && !is_quiet())
    fmt::print(stderr, "{} more models are loaded when they are asked for\n", n_more);
  if (!grpc_url.empty()) fmt::print(stderr, "gRPC on {}\n", grpc_url);
  fmt::print(stderr, "listening on {}\n", url);
  std::fflush(stderr);
}

Status serve(const CommandLine& line, ServeCall& call) {
  call.server.api_keys = TRY(api_keys_of(line, call.api_key));
  if (!call.tls.empty()) call.server.tls = TRY(TlsContext::load(call.tls));
  set_reload(line, call);
  TRY(check_reach(call, "--host", call.server.host));
  if (!call.grpc.empty()) TRY(check_reach(call, "--grpc", TRY(parse_endpoint(call.grpc)).host));
  limit_connections(line, call.server.max_connections);
  const std::unique_ptr<RequestLog> log = TRY(open_log(call));
  // Opens the port first, so that a port in use is reported before minutes of loading. Clients that
  // connect meanwhile wait: routes are called only from run() on, when a model is loaded.
  ServerParts parts = make_server_parts();
  ModelPool models(parts, pool_options(line, call));
  call.server.on_request = [&log, &parts](const RequestRecord& record) {
    log->add(record);
    parts.metrics->count(record);
  };
  const std::unique_ptr<HttpServer> server =
      TRY(HttpServer::create(call.server, api_routes(models)));
  std::unique_ptr<RpcServer> grpc = TRY(grpc_server(call, *server, models));
  TRY(keep_on_disk(line, call.cache, call.engine.kv));
  const std::unique_ptr<AuditLog> audit = TRY(open_audit(call.audit));
  std::unique_ptr<ServedMemory> memory = TRY(open_memory(call));
  parts.memory = memory.get();
  const std::unique_ptr<KeptFiles> kept = TRY(KeptFiles::open(line, call.cache, parts));
  if (call.session_days > 0) kept->keep_sessions_for(call.session_days, parts);
  parts.audit = audit.get();
  parts.lenient = call.lenient;
  parts.has_page = !call.no_page;
  parts.notes_contents = call.log_prompts;
  const ServedModelCall served{line,          call.load,  call.engine, call.sampling,
                               call.adapters, call.learn, audit.get()};
  TRY(add_models(line, call, served, parts, models));
  TRY(models.load_first([&](const OpenAiService& first) {
    server->watch_signals();
    print_start(call, first, models.list().size(), url_of(*server, call.server),
                grpc_url(call, grpc.get()));
  }));
  if (!server->run()) {
    // What that request uses must not be taken away, so the process ends as it is. Sessions and
    // pages are safe: what has been acknowledged is on disk.
    fmt::print(stderr, "stopped; one request did not end and was abandoned\n");
    std::fflush(stderr);
    std::_Exit(kDone);
  }
  grpc.reset();
  // All before the server: their last events still go to its replies.
  models.close();
  kept->close();
  parts.beside.reset();
  memory.reset();
  if (!is_quiet()) fmt::print(stderr, "stopped\n");
  return {};
}

void add_served_model_flags(CommandLine& line, ServeCall& call) {
  const OptionGroup group(line, "Model");
  line.texts("--model,-m", call.models,
             "GGUF file, folder with safetensors, hf:owner/repo, ollama:NAME or a name of `ruvllm "
             "list`, each also as NAME=MODEL; repeat it for more: the first is loaded at once, the "
             "others when a request asks for them. The built-in model when absent");
  line.text("--models-dir", call.models_dir,
            "Folder whose models are served, too: GGUF files and folders with safetensors");
  line.integer("--model-memory", call.model_mebibytes, 0, int64_t{1} << 30,
               "Memory of all loaded models together in MiB, keys and values included; where a "
               "model needs more room, others are unloaded. 0: three quarters of the machine's");
  line.integer("--keep-alive", call.keep_seconds, -1, int64_t{1} << 30,
               "Seconds without a request after which a model is unloaded; -1: it stays while "
               "there is room");
}

void add_log_flags(CommandLine& line, ServeCall& call) {
  const OptionGroup group(line, "Log");
  line.text("--log", call.log,
            "A line for each request on stderr: text, json or off; without contents");
  line.choices({"text", "json", "off"});
  line.text("--log-file", call.log_file, "File to which such lines are appended, as JSON");
  line.flag("--log-prompts", call.log_prompts,
            "Prompts and answers are in the lines that are JSON, up to 64 KiB of each request's");
}

void add_engine_flags(CommandLine& line, EngineOptions& engine) {
  const OptionGroup group(line, "Engine");
  line.integer("--cache-tokens", engine.kv.max_tokens, 0, int64_t{1} << 40,
               "Tokens of context in memory, running and kept ones; 0: as many as fit a quarter of "
               "the machine's memory, at most --ctx times --parallel");
  line.integer("--tenant-tokens", engine.kv.max_tenant_tokens, 0, int64_t{1} << 40,
               "Tokens of context in memory for one user's requests; 0: no quota");
  line.integer(
      "--tail-tokens", engine.kv.tail_tokens, 0, int64_t{1} << 40,
      "Tokens of kept contexts of which everything stays, so that they are not computed "
      "again: what layers with a sliding window keep, and with --kv int4 or int2 the newest "
      "part in f16; 0: an eighth of --cache-tokens");
  line.threads(engine.n_threads);
  line.kv(engine.kv.type);
  line.integer("--ctx,-c", engine.n_ctx, 0, int64_t{1} << 24,
               "Longest prompt and answer in tokens; 0: what the model was trained for");
  line.integer("--parallel", engine.max_sequences, 1, 1024,
               "Answers that are generated at the same time; more wait");
}

void add_memory_flags(CommandLine& line, ServeCall& call) {
  const OptionGroup group(line, "Memory");
  line.text("--memory", call.memory.folder,
            "Keep documents and vector stores of clients in this folder; absent: none are kept");
  line.text("--memory-model", call.memory.model,
            "The name of the served model that embeds them; absent: the first");
  line.integer("--memory-stores", call.memory.shelf.max_open, 1, 10'000,
               "Stores that stay open: more make searches of many stores faster");
  line.integer("--memory-mib", call.memory_mebibytes, 1, 1 << 20,
               "Memory of stores that stay open, those in use apart, in MiB");
  line.integer("--memory-files-mib", call.memory_file_mebibytes, 1, 1 << 20,
               "Uploaded files of a tenant together, in MiB");
  line.text("--memory-key", call.memory_key,
            "Encrypt what is kept there: a file with 64 hexadecimal digits, or env:NAME or "
            "keyring:NAME with those");
  line.flag("--memory-sync", call.memory.shelf.syncs,
            "Wait for the disk, so that a loss of power loses no document");
}

// What is wrong with flags that do not go together; null: nothing.
const char* wrong_together(const CommandLine& line, const ServeCall& call) {
  if (line.given("--socket-file") && (line.given("--host") || line.given("--port")))
    return "--socket-file takes no --host and no --port";
  if (call.log_prompts && call.log != "json" && call.log_file.empty())
    return "--log-prompts needs lines in JSON: --log json or --log-file FILE";
  if (line.given("--tls-cert") != line.given("--tls-key"))
    return "--tls-cert and --tls-key go together";
  if (call.audit.folder.empty() && has_audit_flags(line))
    return "options of the audit log go with --audit DIR";
  if (!call.audit.folder.empty() && call.load.quantize != "off")
    return "--audit: a log does not say as which type weights were loaded; serve a file of that "
           "type (`ruvllm quantize`)";
  if (call.learn.folder.empty() && has_learn_flags(line))
    return "options of learning go with --learn DIR";
  if (PostgresStore::is_url(call.memory.folder)) {
    return "--memory: a server keeps documents in a folder, not in PostgreSQL; bring them there "
           "with `ruvllm memory export --vectors --store URL` and `import --store "
           "FOLDER/memory`, or ask the database by `ruvllm memory search --store URL`";
  }
  for (const char* flag : {"--memory-model", "--memory-stores", "--memory-mib",
                           "--memory-files-mib", "--memory-key", "--memory-sync"}) {
    if (call.memory.folder.empty() && line.given(flag))
      return "options of the memory go with --memory FOLDER";
  }
  if (line.given("--socket-file") && line.given("--tls-cert"))
    return "--socket-file takes no --tls-cert";
  return nullptr;
}

}  // namespace

int serve_command(int argc, char** argv) {
  ServeCall call;
  call.server.stop_on_signals = true;
  CommandLine line("serve", "Serves models over HTTP, as the OpenAI API does.");
  line.example("ruvllm serve -m qwen.gguf", "On http://127.0.0.1:8080, for this machine only");
  line.example("ruvllm serve -m qwen.gguf --host 0.0.0.0 --api-key-file keys",
               "For other machines, which need a key");
  line.example("ruvllm serve --models-dir ~/models --keep-alive 600",
               "Several models, unloaded after ten minutes");
  line.alternatives({"--socket-file", "--host"});
  line.alternatives({"--socket-file", "--port"});
  line.alternatives({"--socket-file", "--tls-cert"});
  line.alternatives({"--socket-file", "--tls-key"});
  add_served_model_flags(line, call);
  add_load_flags(line, call.load);
  add_draft_flag(line, call.load);
  add_adapter_flags(line, call.adapters);
  line.text(
      "--learn", call.learn.folder,
      "Learn from POST /v1/feedback, into adapters that are kept in this folder and that requests "
      "name; absent: nothing is learned");
  add_learn_flags(line, call.learn);
  add_memory_flags(line, call);
  add_audit_flags(line, call.audit);
  line.sampling(call.sampling);
  line.text("--alias", call.alias,
            "Name of the first model in requests and answers; else the file's");
  line.texts("--cors-origin", call.server.cors_origins,
             "A web page elsewhere that may use the server, as https://app.example; repeat it for "
             "more; *: any");
  add_log_flags(line, call);
  line.flag("--lenient", call.lenient,
            "Drop fields of requests that are unknown or not supported, and name them in the "
            "header X-Ignored-Fields; else they are refused");
  line.text("--host", call.server.host, "Address to listen on; 0.0.0.0: all of this machine's");
  line.text("--socket-file", call.server.socket_file,
            "Listen on this file instead of a port: a socket that only this user may open");
  line.integer("--port", call.port, 0, 65535, "Port to listen on; 0: any that is free");
  line.text("--tls-cert", call.tls.certificate,
            "Serve HTTPS with this certificate: a PEM file, followed by those of its issuers. "
            "Read again on SIGHUP");
  line.text("--tls-key", call.tls.key, "The private key of --tls-cert: a PEM file, not encrypted");
  line.integer(
      "--max-connections", call.server.max_connections, 1, 1'000'000,
      "Connections at the same time; beyond them the one is closed that has waited longest "
      "for a request");
  add_api_key_flags(line, call.api_key);
  line.flag("--no-key", call.no_key, "Other machines may use the server without a key");
  line.flag("--no-page", call.no_page, "Browsers that open the server's address get no page");
  line.texts(
      "--allow-host", call.server.allowed_hosts,
      "A name by which the server may be called, as a proxy or a web page does; repeat it for "
      "more; *: any");
  line.text("--grpc", call.grpc,
            "HOST:PORT to listen on with gRPC, too; port 0: any that is free. Only in builds with "
            "it");
  add_cache_flags(line, call.cache);
  line.integer("--session-days", call.session_days, 0, 36'500,
               "Remove sessions that nothing changed for this many days; 0: keep them");
  add_engine_flags(line, call.engine);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const char* const wrong = wrong_together(line, call)) return line.wrong_call(wrong);
  call.server.port = static_cast<uint16_t>(call.port);
  bound_kept_memory();
  const Status status = serve(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
