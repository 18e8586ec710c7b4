// ruv_bench_interface: the C++ API and the C interface on one model, by turns as bench/bindings.py
// asks for them.
//   ruv_bench_interface MODEL
// Reads lines "SIDE WORK N" and answers each with a line of JSON. SIDE: cpp or c. WORK: generate or
// stream with N tokens, embed with N texts.
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "ruv/stream.h"
#include "ruvllm.h"

namespace ruv {
namespace {

constexpr int64_t kContext = 1024;
constexpr const char* kPrompt = "Once upon a time";

[[noreturn]] void give_up(std::string_view why) {
  std::cerr << why << '\n';
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message());
  return std::move(*result);
}

std::string text_number(int64_t i) {
  return "Text " + std::to_string(i) + " of those that are made into vectors.";
}

// The library as a C++ program uses it. Each gives a text that says what came out.
class CppSide {
 public:
  explicit CppSide(const char* file)
      : model_(must(load_model(file))),
        engine_(must(Engine::create(model_, {.n_ctx = kContext}))) {}

  std::string generate(int64_t n) {
    return must(ruv::generate(*engine_, must(tokenize(*model_, kPrompt)), params(n))).text;
  }
  std::string stream(int64_t n) {
    std::string text;
    const auto append = [&](std::string_view piece) { text += piece; };
    must(ruv::generate(*engine_, must(tokenize(*model_, kPrompt)), params(n), append));
    return text;
  }
  std::string embed(int64_t n) {
    std::vector<std::vector<Token>> texts;
    for (int64_t i = 0; i < n; ++i) {
      texts.push_back(must(tokenize_embedding(*model_, text_number(i))));
    }
    return std::to_string(must(engine_->embed_all(std::move(texts))).back().numbers[0]);
  }

 private:
  static GenerateParams params(int64_t n) {
    return {.max_tokens = n, .temperature = 0, .ignore_eos = true};
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Engine> engine_;
};

// The same through ruvllm.h.
class CSide {
 public:
  explicit CSide(const char* file) {
    const std::string options = Json{{"n_ctx", kContext}}.dump();
    check(ruvllm_model_load(file, options.c_str(), nullptr, nullptr, &model_, nullptr));
  }
  ~CSide() { ruvllm_model_free(model_); }
  CSide(const CSide&) = delete;
  CSide& operator=(const CSide&) = delete;

  std::string generate(int64_t n) {
    ruvllm_text* text = nullptr;
    check(ruvllm_generate(model_, request(n).c_str(), nullptr, nullptr, &text, nullptr));
    std::string out(ruvllm_text_data(text), ruvllm_text_size(text));
    ruvllm_text_free(text);
    return out;
  }
  std::string stream(int64_t n) {
    std::string out;
    ruvllm_text* text = nullptr;
    const auto append = [](const char* piece, size_t size, void* user) {
      static_cast<std::string*>(user)->append(piece, size);
      return 0;
    };
    check(ruvllm_generate(model_, request(n).c_str(), append, &out, &text, nullptr));
    ruvllm_text_free(text);
    return out;
  }
  std::string embed(int64_t n) {
    Json texts = Json::array();
    for (int64_t i = 0; i < n; ++i) texts.push_back(text_number(i));
    const std::string request = Json{{"input", std::move(texts)}}.dump();
    ruvllm_vectors* vectors = nullptr;
    check(ruvllm_embed(model_, request.c_str(), &vectors, nullptr));
    const size_t last = (ruvllm_vectors_rows(vectors) - 1) * ruvllm_vectors_columns(vectors);
    std::string out = std::to_string(ruvllm_vectors_data(vectors)[last]);
    ruvllm_vectors_free(vectors);
    return out;
  }

 private:
  static void check(ruvllm_status status) {
    if (status != RUVLLM_OK) give_up("status " + std::to_string(status));
  }
  static std::string request(int64_t n) {
    return Json{{"prompt", kPrompt}, {"max_tokens", n}, {"temperature", 0}, {"ignore_eos", true}}
        .dump();
  }

  ruvllm_model* model_ = nullptr;
};

// A unit of work and how long it took.
Json measured(const std::function<std::string()>& work) {
  const int64_t before = SteadyClock().now_ns();
  const std::string out = work();
  return {{"wall_ms", static_cast<double>(SteadyClock().now_ns() - before) * 1e-6}, {"out", out}};
}

// One work of a side, by its name.
template <class Side>
std::string run(Side& side, const std::string& work, int64_t n) {
  if (work == "generate") return side.generate(n);
  if (work == "stream") return side.stream(n);
  if (work == "embed") return side.embed(n);
  give_up("no such work: " + work);
}

int serve(const char* file) {
  CppSide cpp(file);
  CSide c(file);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string side, work;
    int64_t n = 0;
    words >> side >> work >> n;
    const auto do_it = [&] { return side == "cpp" ? run(cpp, work, n) : run(c, work, n); };
    std::cout << measured(do_it).dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: ruv_bench_interface MODEL\n", 2;
  return ruv::serve(argv[1]);
}
