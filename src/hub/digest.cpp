// libcrypto hashes, with the processor's own instructions for SHA where it has them: several times
// as fast as code without them, which a fast connection would wait for.
#include "hub/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/patch_file.h"

namespace ruv {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

}  // namespace

// libcrypto's state of a digest.
struct DigestStream::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(evp); }
};

Result<FileDigest> read_digest(std::string_view hex) {
  FileDigest digest;
  const bool is_git = hex.size() == 40;
  if (is_git) digest.kind = DigestKind::git_blob;
  digest.hex = hex;
  for (char& c : digest.hex) c = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
  const bool is_hex = digest.hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  if ((!is_git && hex.size() != 64) || !is_hex)
    return fail(Code::corrupt, "a digest has 64 or 40 hexadecimal digits, not '{:.80}'", hex);
  return digest;
}

DigestStream::DigestStream(std::unique_ptr<Context> context) : context_(std::move(context)) {}
DigestStream::DigestStream(DigestStream&&) noexcept = default;
DigestStream::~DigestStream() = default;

Result<DigestStream> DigestStream::start(DigestKind kind, uint64_t n_bytes) {
  auto context = std::make_unique<Context>();
  if (context->evp == nullptr) return fail(Code::out_of_memory, "no memory for a digest");
  const EVP_MD* type = kind == DigestKind::sha256 ? EVP_sha256() : EVP_sha1();
  if (EVP_DigestInit_ex(context->evp, type, nullptr) != 1)
    return fail(Code::unsupported, "libcrypto refuses {}", EVP_MD_get0_name(type));
  DigestStream stream(std::move(context));
  if (kind == DigestKind::git_blob) {
    const std::string head = fmt::format("blob {}", n_bytes);
    stream.add(as_bytes({head.c_str(), head.size() + 1}));
  }
  return stream;
}

void DigestStream::add(Bytes bytes) {
  CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string DigestStream::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned n = 0;
  CHECK(EVP_DigestFinal_ex(context_->evp, raw.data(), &n) == 1);
  std::string hex;
  for (unsigned i = 0; i < n; ++i) hex += fmt::format("{:02x}", raw[i]);
  return hex;
}

// Pages that were read are given back, so that a large file takes no memory from others.
Result<std::string> digest_of_file(const std::string& path, DigestKind kind) {
  const MappedFile file = TRY(MappedFile::open(path));
  DigestStream stream = TRY(DigestStream::start(kind, file.bytes().size()));
  for (Bytes left = file.bytes(); !left.empty();) {
    const Bytes piece = left.subspan(0, std::min(left.size(), kPieceBytes));
    stream.add(piece);
    file.forget(piece);
    left = left.subspan(piece.size());
  }
  TRY(file.check_read());
  return stream.finish();
}

}  // namespace ruv
