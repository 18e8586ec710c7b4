#include "format/other_containers.h"

#include <array>
#include <cmath>
#include <cstring>

namespace ruv {
namespace {

struct ContainerMagic {
  std::string_view bytes;
  std::string_view name;
  std::string_view advice;
};
constexpr std::string_view kConvertGgml =
    "convert it to GGUF with convert_llama_ggml_to_gguf.py of llama.cpp, or take the model as GGUF";
constexpr std::string_view kExport =
    "export the model it was made of as a folder: export.py of llama2.c with --version -1";
// A magic is a number in the file, so its letters are in reverse.
constexpr std::array kMagics = {
    ContainerMagic{"lmgg", "a GGML file", kConvertGgml},
    ContainerMagic{"tjgg", "a GGJT file", kConvertGgml},
    ContainerMagic{"algg", "a GGLA file (an adapter)", kConvertGgml},
    ContainerMagic{"24ka", "a checkpoint of llama2.c", kExport},
};

int32_t field_at(Bytes bytes, size_t i) {
  int32_t field = 0;
  std::memcpy(&field, bytes.data() + 4 * i, sizeof field);
  return field;
}

// The oldest checkpoints of llama2.c have no magic: seven sizes, whose weights fill the file.
bool looks_like_llama2_c(Bytes bytes) {
  constexpr size_t kFields = 7;
  if (bytes.size() < 4 * kFields) return false;
  double f[kFields];
  for (size_t i = 0; i < kFields; ++i) f[i] = field_at(bytes, i);
  const auto [width, inner, layers, heads, key_heads, vocabulary, length] = f;
  const bool is_sane = width >= 1 && inner >= 1 && layers >= 1 && heads >= 1 && key_heads >= 1 &&
                       vocabulary != 0 && length >= 1 && width <= 65536 && inner <= 1e6;
  if (!is_sane) return false;
  const double head = std::floor(width / heads);
  const double keys = head * key_heads;
  const double n_outputs = std::fabs(vocabulary) * width;
  const double layer = 2 * width + 2 * width * head * heads + 2 * width * keys + 3 * width * inner;
  const double n = n_outputs * (vocabulary < 0 ? 2 : 1) + layers * layer + width + length * head;
  return static_cast<double>(bytes.size()) == 4 * (n + kFields);
}

bool is_pickle(Bytes bytes, std::string_view path) {
  const bool is_named = path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".bin") ||
                        path.ends_with(".ckpt");
  const std::string_view start = as_text(bytes.first(std::min<size_t>(bytes.size(), 4)));
  return (is_named && start.starts_with("PK\x03\x04")) || start.starts_with("\x80\x02");
}

}  // namespace

std::string command_for_pickle(std::string_view file) {
  return fmt::format(
      "python3 -c \"import torch, safetensors.torch as s; s.save_file({{k: v.clone() for k, v in "
      "torch.load('{}', map_location='cpu', weights_only=True).items()}}, 'model.safetensors')\"",
      file);
}

Status refuse_other_container(Bytes bytes, const std::string& path) {
  if (is_pickle(bytes, path)) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    return fail(Code::unsupported,
                "{}: a pickle of PyTorch, which may run code and is not read; in its folder, make "
                "safetensors of it and give the folder: {}",
                path, command_for_pickle(name));
  }
  const std::string_view start = as_text(bytes.first(std::min<size_t>(bytes.size(), 4)));
  for (const ContainerMagic& magic : kMagics) {
    if (start != magic.bytes) continue;
    return fail(Code::unsupported, "{}: {}, which is not read; {}", path, magic.name, magic.advice);
  }
  if (!looks_like_llama2_c(bytes)) return {};
  return fail(Code::unsupported, "{}: a checkpoint of llama2.c, which is not read; {}", path,
              kExport);
}

}  // namespace ruv
