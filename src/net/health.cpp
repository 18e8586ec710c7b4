// GET /health: whether the server answers, and how busy the engine is; asks for no key.
// GET /ready: whether it takes requests now. GET /v1/engine/stats: what its caches and drafts did.
// GET /metrics: the same and more for Prometheus. All copy numbers that are ready, so they are
// answered on the network thread, whatever the workers do.
#include <array>

#include "audit/audit_log.h"
#include "base/json.h"
#include "net/metrics.h"
#include "net/openai/routes.h"

namespace ruv {

namespace {

Json load_json(const Engine::Load& load) {
  return {{"n_running", load.n_running},   {"n_waiting", load.n_waiting},
          {"free_pages", load.free_pages}, {"total_pages", load.total_pages},
          {"n_steps", load.n_steps},       {"n_refused", load.n_refused}};
}

// Counters as the engine has them.
Json kv_json(const KvCacheStats& s) {
  return {{"page_tokens", s.page_tokens},     {"page_bytes", s.page_bytes},
          {"total_pages", s.total_pages},     {"free_pages", s.free_pages},
          {"cached_pages", s.cached_pages},   {"evictable_pages", s.evictable_pages},
          {"cached_tokens", s.cached_tokens}, {"index_bytes", s.index_bytes},
          {"evicted_pages", s.evicted_pages}, {"preemptions", s.preemptions},
          {"tail_pages", s.tail_pages},       {"used_tail_pages", s.used_tail_pages},
          {"demoted_pages", s.demoted_pages}, {"memory_bytes", s.memory_bytes},
          {"window_pages", s.window_pages},   {"used_window_pages", s.used_window_pages},
          {"passed_pages", s.passed_pages}};
}

Json prefix_json(const KvCacheStats& s) {
  return {{"lookups", s.lookups},
          {"hits", s.hits},
          {"prompt_tokens", s.prompt_tokens},
          {"reused_tokens", s.reused_tokens}};
}

Json disk_json(const KvCacheStats& s) {
  if (!s.on_disk) return nullptr;
  return {{"bytes", s.disk_bytes},
          {"max_bytes", s.disk_max_bytes},
          {"pages", s.disk_pages},
          {"written_pages", s.written_pages},
          {"restored_pages", s.restored_pages},
          {"failed_restores", s.failed_restores}};
}

Json speculation_json(const SpeculativeStats& s) {
  return {{"drafted", s.n_drafted},
          {"accepted", s.n_accepted},
          {"drafted_by_head", s.n_drafted_by_head},
          {"accepted_of_head", s.n_accepted_of_head},
          {"acceptance", s.acceptance()},
          {"passes", s.n_passes},
          {"tokens", s.n_tokens},
          {"tokens_per_pass", s.tokens_per_pass()},
          {"speed_up", s.speed_up}};
}

double share(int64_t part, int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

// What a loaded model's engine says of itself.
struct EngineNumbers {
  std::string name;
  Engine::Load load;
  KvCacheStats kv;
  SpeculativeStats drafts;
  MaskTimes masks;
  int64_t created = 0;
};

std::vector<EngineNumbers> numbers_of(const ServedModels& models) {
  std::vector<EngineNumbers> all;
  for (const ModelState& state : models.list()) {
    const auto lease = models.loaded(state.names.front());
    if (!lease) continue;
    const Engine& engine = *(*lease)->engine;
    all.push_back({state.names.front(), engine.load(), engine.kv_stats(),
                   engine.speculative_stats(), engine.mask_times(), state.created});
  }
  return all;
}

// A metric under several names, of each model.
struct EngineMetric {
  std::vector<std::string_view> names;
  std::string_view type;
  std::string_view help;
  double (*value)(const EngineNumbers&);
};

template <auto Part, auto Member>
double number(const EngineNumbers& of) {
  return static_cast<double>(of.*Part.*Member);
}

std::span<const EngineMetric> engine_metrics() {
  using N = EngineNumbers;
  using Load = Engine::Load;
  using Kv = KvCacheStats;
  using Drafts = SpeculativeStats;
  static const std::array kMetrics{
      EngineMetric{
          {"ruvllm_requests_running", "vllm:num_requests_running", "llamacpp:requests_processing"},
          "gauge",
          "Answers that are being generated.",
          number<&N::load, &Load::n_running>},
      EngineMetric{
          {"ruvllm_requests_waiting", "vllm:num_requests_waiting", "llamacpp:requests_deferred"},
          "gauge",
          "Requests in the queue.",
          number<&N::load, &Load::n_waiting>},
      EngineMetric{{"ruvllm_requests_refused_total"},
                   "counter",
                   "Requests refused because the queue was full.",
                   number<&N::load, &Load::n_refused>},
      EngineMetric{{"ruvllm_steps_total", "llamacpp:n_decode_total"},
                   "counter",
                   "Engine steps.",
                   number<&N::load, &Load::n_steps>},
      EngineMetric{{"ruvllm_kv_usage_ratio", "vllm:kv_cache_usage_perc"},
                   "gauge",
                   "Share of the pages of keys and values that hold some.",
                   [](const N& of) {
                     return share(of.kv.total_pages - of.kv.free_pages, of.kv.total_pages);
                   }},
      EngineMetric{{"ruvllm_kv_evicted_pages_total"},
                   "counter",
                   "Pages that left memory.",
                   number<&N::kv, &Kv::evicted_pages>},
      EngineMetric{{"ruvllm_kv_restored_pages_total"},
                   "counter",
                   "Pages read back from disk.",
                   number<&N::kv, &Kv::restored_pages>},
      EngineMetric{{"ruvllm_preemptions_total", "vllm:num_preemptions_total"},
                   "counter",
                   "Answers that gave their place to others for a time.",
                   number<&N::kv, &Kv::preemptions>},
      EngineMetric{{"ruvllm_prefix_tokens_total", "vllm:prefix_cache_queries_total"},
                   "counter",
                   "Tokens of prompts that were looked up in the prefix cache.",
                   number<&N::kv, &Kv::prompt_tokens>},
      EngineMetric{{"ruvllm_prefix_hit_tokens_total", "vllm:prefix_cache_hits_total"},
                   "counter",
                   "Tokens that it had.",
                   number<&N::kv, &Kv::reused_tokens>},
      EngineMetric{{"ruvllm_draft_tokens_total", "vllm:spec_decode_num_draft_tokens_total",
                    "llamacpp:spec_decode_num_draft_tokens_total"},
                   "counter",
                   "Tokens drafted and checked.",
                   number<&N::drafts, &Drafts::n_drafted>},
      EngineMetric{
          {"ruvllm_accepted_draft_tokens_total", "vllm:spec_decode_num_accepted_tokens_total",
           "llamacpp:spec_decode_num_accepted_tokens_total"},
          "counter",
          "Drafted tokens that were right.",
          number<&N::drafts, &Drafts::n_accepted>},
      EngineMetric{{"ruvllm_model_start_time_seconds"},
                   "gauge",
                   "When the model was loaded, unix time.",
                   [](const N& of) { return static_cast<double>(of.created); }}};
  return kMetrics;
}

void write_pages(std::span<const EngineNumbers> all, MetricsText& out) {
  constexpr std::string_view kPages = "ruvllm_kv_pages";
  out.begin(kPages, "gauge", "Pages of keys and values by where they are.");
  for (const EngineNumbers& of : all) {
    const auto add = [&](std::string_view tier, int64_t n) {
      out.sample(kPages, {{"model_name", of.name}, {"tier", tier}}, static_cast<double>(n));
    };
    add("free", of.kv.free_pages);
    add("cached", of.kv.cached_pages);
    add("disk", of.kv.disk_pages);
  }
}

void write_masks(std::span<const EngineNumbers> all, MetricsText& out) {
  constexpr std::string_view kMasks = "ruvllm_mask_seconds";
  out.begin(kMasks, "histogram",
            "Finding the tokens that may come next, where a form of answers limits them.");
  for (const EngineNumbers& of : all) {
    out.buckets(kMasks, {{"model_name", of.name}},
                {MaskTimes::kBounds, of.masks.counts, of.masks.seconds});
  }
}

void write_models(const ServedModels& models, MetricsText& out) {
  constexpr std::string_view kLoaded = "ruvllm_model_loaded";
  const std::vector<ModelState> states = models.list();
  out.begin(kLoaded, "gauge", "1: the model is loaded.");
  for (const ModelState& state : states) {
    out.sample(kLoaded, {{"model_name", state.names.front()}},
               state.phase == ModelPhase::loaded ? 1 : 0);
  }
  constexpr std::string_view kBytes = "ruvllm_model_bytes";
  out.begin(kBytes, "gauge", "Memory of the model; an estimate while it is not loaded.");
  for (const ModelState& state : states) {
    out.sample(kBytes, {{"model_name", state.names.front()}}, static_cast<double>(state.n_bytes));
  }
}

void write_engines(const ServedModels& models, MetricsText& out) {
  const std::vector<EngineNumbers> all = numbers_of(models);
  for (const EngineMetric& metric : engine_metrics()) {
    for (const std::string_view name : metric.names) {
      out.begin(name, metric.type, metric.help);
      for (const EngineNumbers& of : all) {
        out.sample(name, {{"model_name", of.name}}, metric.value(of));
      }
    }
  }
  write_pages(all, out);
  write_masks(all, out);
  write_models(models, out);
}

// With a status that monitoring programs look for.
HttpResponse not_well(const Status& condition) {
  HttpResponse response = error_response(api_error(condition));
  response.status = 503;
  return response;
}

// All loaded models together.
Engine::Load load_of(const ServedModels& models) {
  Engine::Load sum;
  for (const EngineNumbers& of : numbers_of(models)) {
    sum.n_running += of.load.n_running;
    sum.n_waiting += of.load.n_waiting;
    sum.free_pages += of.load.free_pages;
    sum.total_pages += of.load.total_pages;
    sum.n_steps += of.load.n_steps;
    sum.n_refused += of.load.n_refused;
  }
  return sum;
}

HttpResponse stats_of(const ServedModels& models, const HttpRequest& request) {
  const auto lease = models.loaded(asked_in_query(request));
  if (!lease) return error_response(lease.error());
  const Engine& engine = *(*lease)->engine;
  const KvCacheStats kv = engine.kv_stats();
  const Json json = {{"load", load_json(engine.load())},
                     {"kv", kv_json(kv)},
                     {"prefix", prefix_json(kv)},
                     {"disk", disk_json(kv)},
                     {"speculation", speculation_json(engine.speculative_stats())}};
  return {.body = json.dump()};
}

// A route that asks for no key.
Route open_route(const char* path, std::function<HttpResponse(const HttpRequest&)> answer) {
  Route route = simple_route("GET", path, std::move(answer));
  route.needs_key = false;
  route.thread = RouteThread::network;
  return route;
}

void write_audit(const AuditLog& log, MetricsText& out) {
  const AuditLog::Stats stats = log.stats();
  out.single("ruvllm_audit_entries_total", "counter", "Entries written to the audit log.",
             static_cast<double>(stats.n_written));
  out.single("ruvllm_audit_lost_total", "counter",
             "Answers that the audit log could not take, which it says itself.",
             static_cast<double>(stats.n_lost));
  out.single("ruvllm_audit_waiting", "gauge", "Answers that wait to be written to the audit log.",
             static_cast<double>(stats.n_waiting));
  out.single("ruvllm_audit_failing", "gauge", "1 while the audit log cannot be written.",
             stats.failure.empty() ? 0 : 1);
}

}  // namespace

Status served_condition(const ServedModels& models) {
  for (const ModelState& state : models.list()) {
    const auto lease = models.loaded(state.names.front());
    if (!lease) continue;
    TRY((*lease)->engine->condition());
  }
  return {};
}

Route stats_route(ServedModels& models) {
  Route route = simple_route("GET", "/v1/engine/stats", [&models](const HttpRequest& request) {
    return stats_of(models, request);
  });
  route.thread = RouteThread::network;
  route.scope = KeyScope::observe;
  return route;
}

Route health_route(ServedModels& models) {
  return open_route("/health", [&models](const HttpRequest&) {
    if (const Status condition = served_condition(models); !condition.ok())
      return not_well(condition);
    const Json json = {{"status", "ok"},
                       {"model", models.list().front().names.front()},
                       {"load", load_json(load_of(models))}};
    return HttpResponse{.body = json.dump()};
  });
}

Route ready_route(ServedModels& models) {
  return open_route("/ready", [&models](const HttpRequest&) {
    if (const Status condition = served_condition(models); !condition.ok())
      return not_well(condition);
    return HttpResponse{.body = R"({"status":"ready"})"};
  });
}

Route metrics_route(ServedModels& models) {
  Route route = simple_route("GET", "/metrics", [&models](const HttpRequest&) {
    MetricsText out;
    if (models.parts().metrics != nullptr) models.parts().metrics->write(out);
    out.single("process_start_time_seconds", "gauge", "When the server started, unix time.",
               static_cast<double>(models.parts().started));
    if (models.parts().audit != nullptr) write_audit(*models.parts().audit, out);
    write_engines(models, out);
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                        .body = out.take()};
  });
  route.types = {"text/plain"};
  route.thread = RouteThread::network;
  route.scope = KeyScope::observe;
  return route;
}

}  // namespace ruv
