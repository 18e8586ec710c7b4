// GgufWriter: writes a GGUF version 3 file front to back, so that a model larger than memory can be
// converted. Metadata and tensor infos come first, then the tensors' bytes in the order of
// declaration. The file appears under its name only at commit (layout: gguf.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/model_file.h"

namespace ruv {

class GgufWriter {
 public:
  static constexpr uint64_t kAlignment = 32;

  // Fails: as FileWriter::create.
  static Result<GgufWriter> create(const std::string& path, FileTarget target = {});

  // Metadata. Requires: before begin_tensors, each key once.
  void add_u32(std::string_view key, uint32_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_text(std::string_view key, std::string_view value);
  void add_texts(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);
  void add_bytes(std::string_view key, Bytes values);
  // A value read from another file. The original integer width is not known, so the value gets the
  // type that other readers expect: u32 if it fits, then i32, u64, i64; f32 if that is exact, else
  // f64. Arrays of integers: i32 if all fit, else i64. An empty array becomes one of texts.
  void add(std::string_view key, const MetaValue& value);

  // Declares a tensor; shape is rows first. Requires: before begin_tensors; the last length a
  // multiple of the format's block.
  void declare_tensor(std::string_view name, DType dtype, std::span<const int64_t> shape);

  // Writes everything up to the first tensor.
  Status begin_tensors();
  // The next bytes of the tensors: any number of calls per tensor, none across two.
  // Requires: after begin_tensors; no more bytes than the tensor has left.
  Status write(Bytes bytes);
  // Whether the next n bytes of the tensors are there from an interrupted writer of the same file
  // (FileTarget::resumable): skip() passes them.
  bool has(uint64_t n) const { return file_.offset() + n <= file_.n_kept(); }
  // Requires: as write(), and has(n).
  Status skip(uint64_t n);
  // Requires: all bytes of all tensors were written.
  Status commit();
  // As FileWriter::discard.
  void discard() { file_.discard(); }

 private:
  struct Declared {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    uint64_t n_bytes;
    uint64_t offset;
  };
  explicit GgufWriter(FileWriter file) : file_(std::move(file)) {}
  void begin_entry(std::string_view key, uint32_t type);
  void begin_array(std::string_view key, uint32_t element_type, size_t n);
  void add_array(std::string_view key, const MetaArray& array);
  Status pad_to(uint64_t offset);
  void begin_piece(uint64_t n);
  Status end_piece(uint64_t n);

  FileWriter file_;
  std::string entries_;
  uint64_t n_entries_ = 0;
  std::vector<Declared> tensors_;
  uint64_t end_of_tensors_ = 0;  // in the data section, padded
  uint64_t data_start_ = 0;      // offset in the file; 0 before begin_tensors
  size_t current_ = 0;
  uint64_t written_ = 0;  // of the current tensor
};

}  // namespace ruv
