// From the value of --model to a loaded model, a model file or a tokenizer.
#include "open_model.h"

#include "default_model.h"
#include "terminal.h"

namespace ruv {

Result<std::string> chosen_model(const std::string& given) {
  if (!given.empty()) return given;
  const std::string path = default_model_path();
  if (path.empty())
    return fail(Code::not_found, "the built-in model is not beside the program: give --model");
  return path;
}

Result<std::shared_ptr<const Model>> open_model(const std::string& given, int n_threads) {
  const std::string path = TRY(chosen_model(given));
  ProgressBar bar("loading");
  LoadOptions options;
  options.n_threads = n_threads;
  options.progress = [&bar](double share) { bar.update(share); };
  return load_model(path, options);
}

Result<std::unique_ptr<ModelFile>> open_model_file(const std::string& given) {
  return ModelFile::open(TRY(chosen_model(given)));
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::string& given) {
  const std::unique_ptr<ModelFile> file = TRY(open_model_file(given));
  auto tokenizer = Tokenizer::create(TRY(file->tokenizer_spec()));
  if (!tokenizer) return tl::unexpected(with_context(file->path(), tokenizer.error()));
  return tokenizer;
}

}  // namespace ruv
