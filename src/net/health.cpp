// GET /health: whether the server answers, and how busy the engine is. Asks for no key.
#include "base/json.h"
#include "net/openai/service.h"

namespace ruv {

Route health_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/health", [&service](const HttpRequest&) {
    const Engine::Load load = service.engine->load();
    const Json json = {{"status", "ok"},
                       {"model", service.names.front()},
                       {"load",
                        {{"n_running", load.n_running},
                         {"n_waiting", load.n_waiting},
                         {"free_pages", load.free_pages},
                         {"total_pages", load.total_pages},
                         {"n_steps", load.n_steps}}}};
    return HttpResponse{.body = json.dump()};
  });
  route.needs_key = false;
  return route;
}

}  // namespace ruv
