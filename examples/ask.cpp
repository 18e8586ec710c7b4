// Loads a model, asks a question, streams the answer: ask MODEL QUESTION
#include <iostream>

#include "ruv/stream.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: ask MODEL QUESTION\n", 2;
  const auto fail = [](const ruv::Status& s) { return std::cerr << s.message() << '\n', 1; };

  auto model = ruv::load_model(argv[1]);
  if (!model) return fail(model.error());
  auto engine = ruv::Engine::create(*model);
  if (!engine) return fail(engine.error());
  auto prompt = ruv::tokenize_chat(**model, {{ruv::text_message("user", argv[2])}});
  if (!prompt) return fail(prompt.error());

  const ruv::GenerateParams params{.max_tokens = 100, .temperature = 0};
  const auto print = [](std::string_view text) { std::cout << text << std::flush; };
  auto answer = ruv::generate(**engine, *prompt, params, print);
  if (!answer) return fail(answer.error());
  std::cout << '\n';
}
