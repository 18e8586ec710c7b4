// ruv_bench_template: parse and render times of chat templates, one JSON line each. The chat has 20
// messages; a template that refuses it gets it without its system message, then two messages.
//   ruv_bench_template FOLDER [SECONDS_EACH] [NAME_PART]     FOLDER holds *.jinja
//   ruv_bench_template --context                             prints the chats, for other engines
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "chat/chat_template.h"

namespace ruv {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Json chat(size_t n_messages, bool with_system) {
  const std::string question =
      "I have a small program that reads a list of names and prints them sorted. It works for "
      "plain ASCII but not for names with accents like \"Zoë\". What would you change?\n";
  const std::string answer =
      "Compare by the locale's collation keys instead of bytes:\n\n```python\nimport locale\n"
      "locale.setlocale(locale.LC_ALL, '')\nnames.sort(key=locale.strxfrm)\n```\n\nThat orders "
      "accented letters beside their plain forms. If you need the same order on every machine, "
      "use a library that brings its own tables.";
  Json messages = Json::array();
  if (with_system)
    messages.push_back({{"role", "system"}, {"content", "You are a helpful assistant."}});
  while (messages.size() < n_messages) {
    const bool user = messages.empty() || messages.back()["role"] != "user";
    messages.push_back(
        {{"role", user ? "user" : "assistant"}, {"content", user ? question : answer}});
  }
  return {{"messages", messages}, {"add_generation_prompt", true}};
}

std::vector<Json> chats() {
  return {chat(20, true), chat(19, false), chat(20, false), chat(1, false)};
}

// The smallest and the median time of one call, in us.
template <class F>
std::pair<double, double> timed(double seconds, F&& f) {
  std::vector<double> times;
  const double end = now_us() + seconds * 1e6;
  do {
    const double begin = now_us();
    f();
    times.push_back(now_us() - begin);
  } while (now_us() < end || times.size() < 3);
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

Json measured(const std::string& name, const std::string& source, double seconds) {
  Json out = {{"template", name}, {"bytes", source.size()}};
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed) return Json{{"template", name}, {"error", parsed.error().message()}};
  RenderOptions options;
  options.bos_token = "<s>";
  options.eos_token = "</s>";
  const std::vector<Json> contexts = chats();
  size_t chosen = 0;
  std::string error;
  while (chosen < contexts.size()) {
    const auto parts = (*parsed)->render(contexts[chosen], options);
    if (parts) break;
    error = parts.error().message();
    ++chosen;
  }
  if (chosen == contexts.size()) return Json{{"template", name}, {"error", error}};
  out["chat"] = chosen;
  const auto parse = timed(seconds / 4, [&] { (void)ChatTemplate::parse(source); });
  const auto render = timed(seconds, [&] { (void)(*parsed)->render(contexts[chosen], options); });
  out["parse_us"] = parse.second;
  out["render_us"] = render.second;
  out["render_us_min"] = render.first;
  out["output_bytes"] = joined(*(*parsed)->render(contexts[chosen], options)).size();
  return out;
}

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  if (std::string_view(argv[1]) == "--context") {
    std::cout << Json(chats()).dump() << "\n";
    return 0;
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.05;
  const std::string part = argc > 3 ? argv[3] : "";
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(argv[1]))
    files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    if (path.extension() != ".jinja" || path.string().find(part) == std::string::npos) continue;
    const auto source = read_text_file(path.string());
    if (source) std::cout << measured(path.stem().string(), *source, seconds).dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) { return ruv::run(argc, argv); }
