// GET /health: whether the server answers, and how busy the engine is; asks for no key.
// GET /ready: whether it takes requests now. GET /v1/engine/stats: what its caches and drafts did.
// GET /metrics: the same and more for Prometheus. All copy numbers that are ready, so they are
// answered on the network thread, whatever the workers do.
#include "base/json.h"
#include "net/metrics.h"
#include "net/openai/service.h"

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

// One metric under several names.
void write_all(MetricsText& out, std::initializer_list<std::string_view> names,
               std::string_view type, std::string_view help, double value) {
  for (const std::string_view name : names) out.single(name, type, help, value);
}

double share(int64_t part, int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

void write_engine(const OpenAiService& service, MetricsText& out) {
  const Engine::Load load = service.engine->load();
  const KvCacheStats kv = service.engine->kv_stats();
  const SpeculativeStats drafts = service.engine->speculative_stats();
  const auto number = [](auto value) { return static_cast<double>(value); };
  write_all(
      out, {"ruvllm_requests_running", "vllm:num_requests_running", "llamacpp:requests_processing"},
      "gauge", "Answers that are being generated.", number(load.n_running));
  write_all(out,
            {"ruvllm_requests_waiting", "vllm:num_requests_waiting", "llamacpp:requests_deferred"},
            "gauge", "Requests in the queue.", number(load.n_waiting));
  write_all(out, {"ruvllm_requests_refused_total"}, "counter",
            "Requests refused because the queue was full.", number(load.n_refused));
  write_all(out, {"ruvllm_steps_total", "llamacpp:n_decode_total"}, "counter", "Engine steps.",
            number(load.n_steps));
  write_all(out, {"ruvllm_kv_usage_ratio", "vllm:kv_cache_usage_perc"}, "gauge",
            "Share of the pages of keys and values that hold some.",
            share(kv.total_pages - kv.free_pages, kv.total_pages));
  constexpr std::string_view kPages = "ruvllm_kv_pages";
  out.begin(kPages, "gauge", "Pages of keys and values by where they are.");
  out.sample(kPages, {{"tier", "free"}}, number(kv.free_pages));
  out.sample(kPages, {{"tier", "cached"}}, number(kv.cached_pages));
  out.sample(kPages, {{"tier", "disk"}}, number(kv.disk_pages));
  write_all(out, {"ruvllm_kv_evicted_pages_total"}, "counter", "Pages that left memory.",
            number(kv.evicted_pages));
  write_all(out, {"ruvllm_kv_restored_pages_total"}, "counter", "Pages read back from disk.",
            number(kv.restored_pages));
  write_all(out, {"ruvllm_preemptions_total", "vllm:num_preemptions_total"}, "counter",
            "Answers that gave their place to others for a time.", number(kv.preemptions));
  write_all(out, {"ruvllm_prefix_tokens_total", "vllm:prefix_cache_queries_total"}, "counter",
            "Tokens of prompts that were looked up in the prefix cache.", number(kv.prompt_tokens));
  write_all(out, {"ruvllm_prefix_hit_tokens_total", "vllm:prefix_cache_hits_total"}, "counter",
            "Tokens that it had.", number(kv.reused_tokens));
  write_all(out,
            {"ruvllm_draft_tokens_total", "vllm:spec_decode_num_draft_tokens_total",
             "llamacpp:spec_decode_num_draft_tokens_total"},
            "counter", "Tokens drafted and checked.", number(drafts.n_drafted));
  write_all(out,
            {"ruvllm_accepted_draft_tokens_total", "vllm:spec_decode_num_accepted_tokens_total",
             "llamacpp:spec_decode_num_accepted_tokens_total"},
            "counter", "Drafted tokens that were right.", number(drafts.n_accepted));
  write_all(out, {"process_start_time_seconds"}, "gauge", "When the model was loaded, unix time.",
            number(service.created));
}

}  // namespace

Route stats_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/v1/engine/stats", [&service](const HttpRequest&) {
    const KvCacheStats kv = service.engine->kv_stats();
    const Json json = {{"load", load_json(service.engine->load())},
                       {"kv", kv_json(kv)},
                       {"prefix", prefix_json(kv)},
                       {"disk", disk_json(kv)},
                       {"speculation", speculation_json(service.engine->speculative_stats())}};
    return HttpResponse{.body = json.dump()};
  });
  route.thread = RouteThread::network;
  route.scope = KeyScope::observe;
  return route;
}

Route health_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/health", [&service](const HttpRequest&) {
    if (const Status condition = service.engine->condition(); !condition.ok()) {
      HttpResponse response = error_response(api_error(condition));
      response.status = 503;  // the status that monitoring programs look for
      return response;
    }
    const Json json = {{"status", "ok"},
                       {"model", service.names.front()},
                       {"load", load_json(service.engine->load())}};
    return HttpResponse{.body = json.dump()};
  });
  route.needs_key = false;
  route.thread = RouteThread::network;
  return route;
}

Route ready_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/ready", [&service](const HttpRequest&) {
    const Status condition = service.engine->condition();
    if (condition.ok()) return HttpResponse{.body = R"({"status":"ready"})"};
    HttpResponse response = error_response(api_error(condition));
    response.status = 503;
    return response;
  });
  route.needs_key = false;
  route.thread = RouteThread::network;
  return route;
}

Route metrics_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/metrics", [&service](const HttpRequest&) {
    MetricsText out;
    if (service.metrics != nullptr) service.metrics->write(out);
    write_engine(service, out);
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                        .body = out.take()};
  });
  route.thread = RouteThread::network;
  route.scope = KeyScope::observe;
  return route;
}

}  // namespace ruv
