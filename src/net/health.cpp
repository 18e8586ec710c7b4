// GET /health: whether the server answers, and how busy the engine is; asks for no key.
// GET /v1/engine/stats: what its caches and drafts did. Both copy numbers that the engine has
// ready, so they are answered on the network thread, whatever the workers do.
#include "base/json.h"
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

}  // namespace ruv
