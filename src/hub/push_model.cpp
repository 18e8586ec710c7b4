// The order of the hub's own client: repository, wishes, contents, commit. Nothing is seen in the
// repository before the commit.
#include "hub/push_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "hub/byte_ranges.h"
#include "hub/pull_model.h"
#include "hub/upload_answers.h"

namespace ruv {
namespace {

constexpr size_t kSampleBytes = 512;
constexpr uint64_t kMaxInCommit = 16 << 20;  // of a file that the hub wants within the commit
constexpr uint64_t kMaxAllInCommit = 64 << 20;
constexpr size_t kMaxAnswer = 8 << 20;
constexpr size_t kMaxEtag = 256;

// RFC 4648, with padding.
std::string base64_of(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((text.size() + 2) / 3 * 4);
  for (size_t at = 0; at < text.size(); at += 3) {
    const size_t n = std::min<size_t>(3, text.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < n; ++i)
      bits |= uint32_t{static_cast<uint8_t>(text[at + i])} << (16 - 8 * i);
    for (size_t i = 0; i < 4; ++i) out += i <= n ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

// The bytes of a file to push; they must still be those that were described.
class PushContent {
 public:
  static Result<PushContent> open(const PushFile& file) {
    PushContent content;
    content.text_ = file.text;
    if (!file.from.empty()) content.file_ = TRY(MappedFile::open(file.from));
    if (content.bytes().size() == file.n_bytes) return content;
    return fail(Code::invalid, "{}: it has changed since it was read", file.path);
  }
  Bytes bytes() const { return file_ ? file_->bytes() : as_bytes(text_); }
  const std::optional<MappedFile>& file() const { return file_; }

 private:
  std::string text_;
  std::optional<MappedFile> file_;
};

// The push of some files.
class Push {
 public:
  Push(HubHttp& http, const PushTarget& target, const std::vector<PushFile>& files,
       const PushOptions& options)
      : http_(http), target_(target), options_(options) {
    for (const PushFile& file : files) {
      if (std::ranges::find(target.there, file.path) == target.there.end()) files_.push_back(&file);
    }
    for (const PushFile* file : files_) n_bytes_ += file->n_bytes;
    done_.commit = target.commit;
  }

  Result<PushedModel> run() {
    if (!target_.exists) {
      TRY(create());
      done_.commit = TRY(look_at_target(http_, target_.repo, {})).commit;
    }
    if (files_.empty()) return done_;
    const std::vector<UploadMode> modes = TRY(ask_modes());
    TRY(send_contents(modes));
    const std::string body = TRY(commit_body(modes));
    done_.commit = TRY(commit(body));
    done_.n_committed = files_.size();
    return done_;
  }

 private:
  std::string api(std::string_view what) const {
    return fmt::format("{}/api/models/{}/{}", http_.options().endpoint, target_.repo, what);
  }

  // A refusal of the hub in words for someone that writes. `head`: null where it is of no use.
  Result<std::string> post(const std::string& url, std::string body, std::string_view type,
                           std::string_view what, HttpAnswerHead* head = nullptr) {
    HttpExchange exchange;
    exchange.method = "POST";
    exchange.url = url;
    exchange.headers.push_back(fmt::format("Content-Type: {}", type));
    if (type == kLfsType) exchange.headers.push_back(fmt::format("Accept: {}", type));
    exchange.body = std::move(body);
    exchange.timeout_ms = 0;
    return answer_to(exchange, what, head);
  }

  Result<std::string> answer_to(const HttpExchange& exchange, std::string_view what,
                                HttpAnswerHead* given = nullptr) {
    HttpAnswerHead head;
    const std::string name = fmt::format("{}: {}", target_.repo, what);
    Result<std::string> text = http_.text(exchange, kMaxAnswer, name, &head);
    if (given != nullptr) *given = head;
    if (text) return text;
    const std::string_view said = head.header("x-error-message");
    const std::string detail = said.empty() ? "" : ": " + one_line(said);
    switch (head.status) {
      case 401:
        return fail(Code::invalid, "{}: the hub does not know the token in HF_TOKEN{}", name,
                    detail);
      case 403:
        return fail(Code::invalid, "{}: the token may not write there{}", name, detail);
      case 413:
        return fail(Code::invalid, "{}: the hub takes nothing this large{}", name, detail);
      default:
        return text;
    }
  }

  // A repository that another program has made meanwhile is as good.
  Status create() {
    const size_t slash = target_.repo.find('/');
    const Json body{{"name", target_.repo.substr(slash + 1)},
                    {"organization", target_.repo.substr(0, slash)},
                    {"type", "model"},
                    {"private", options_.is_private}};
    HttpAnswerHead head;
    const Result<std::string> answer = post(http_.options().endpoint + "/api/repos/create",
                                            body.dump(), kJsonType, "making the repository", &head);
    if (!answer && head.status != 409) return answer.error();
    done_.is_new = answer.has_value();
    return {};
  }

  // The hub decides by names, sizes and first bytes which files are LFS files.
  Result<std::vector<UploadMode>> ask_modes() {
    Json list = Json::array();
    for (const PushFile* file : files_) {
      const PushContent content = TRY(PushContent::open(*file));
      const Bytes sample =
          content.bytes().subspan(0, std::min(content.bytes().size(), kSampleBytes));
      list.push_back(Json{
          {"path", file->path}, {"sample", base64_of(as_text(sample))}, {"size", file->n_bytes}});
    }
    Json body = Json::object();
    body["files"] = std::move(list);
    const std::string answer =
        TRY(post(api("preupload/main"), body.dump(), kJsonType, "how its files are sent"));
    const std::vector<UploadMode> said = TRY(read_upload_modes(answer));
    std::vector<UploadMode> modes;
    for (const PushFile* file : files_) {
      const auto mode = std::ranges::find(said, file->path, &UploadMode::path);
      if (mode == said.end())
        return fail(Code::corrupt, "the hub does not say how it wants {}", file->path);
      if (mode->is_ignored)
        return fail(Code::invalid, "the repository's .gitignore leaves out {}", file->path);
      modes.push_back(*mode);
      // What is empty is not taken over LFS.
      if (file->n_bytes == 0) modes.back().is_lfs = false;
      if (!modes.back().is_lfs && file->n_bytes > kMaxInCommit)
        return fail(Code::corrupt, "{}: the hub wants it within the commit, of {} bytes",
                    file->path, file->n_bytes);
    }
    return modes;
  }

  // Contents of LFS files, before the commit that names them. Two files may have one content.
  Status send_contents(const std::vector<UploadMode>& modes) {
    std::vector<const PushFile*> large;
    Json objects = Json::array();
    for (size_t i = 0; i < files_.size(); ++i) {
      const bool is_known =
          std::ranges::find(large, files_[i]->sha256, &PushFile::sha256) != large.end();
      if (!modes[i].is_lfs || is_known) continue;
      large.push_back(files_[i]);
      objects.push_back(Json{{"oid", files_[i]->sha256}, {"size", files_[i]->n_bytes}});
    }
    if (large.empty()) return {};
    Json body{{"operation", "upload"},
              {"transfers", Json::array({"basic", "multipart"})},
              {"hash_algo", "sha256"}};
    body["objects"] = std::move(objects);
    const std::string answer = TRY(post(
        fmt::format("{}/{}.git/info/lfs/objects/batch", http_.options().endpoint, target_.repo),
        body.dump(), kLfsType, "where its contents go"));
    const std::vector<UploadPlace> places = TRY(read_upload_places(answer));
    for (const PushFile* file : large) {
      const auto place = std::ranges::find(places, file->sha256, &UploadPlace::digest);
      if (place == places.end() || (!place->is_there && place->n_bytes != file->n_bytes))
        return fail(Code::corrupt, "the hub does not say where {} goes", file->path);
      TRY(send_content(*file, *place));
      n_done_ += file->n_bytes;
    }
    return {};
  }

  // Verified where the hub wants it: a store may have taken what the hub does not know of.
  Status send_content(const PushFile& file, const UploadPlace& place) {
    if (place.is_there) return {};
    const PushContent content = TRY(PushContent::open(file));
    if (place.part_bytes == 0) {
      TRY(send_part(file, content, {0, file.n_bytes}, place.url, place.headers));
    } else {
      TRY(send_parts(file, content, place));
    }
    if (content.file()) TRY(content.file()->check_read());
    done_.n_sent += file.n_bytes;
    if (place.verify_url.empty()) return {};
    TRY(check_url(place.verify_url));
    const Json body{{"oid", file.sha256}, {"size", file.n_bytes}};
    TRY(post(place.verify_url, body.dump(), kLfsType, "verifying " + file.path));
    return {};
  }

  // The parts' ETags, in order, join them to one content, whose digest the hub checks.
  Status send_parts(const PushFile& file, const PushContent& content, const UploadPlace& place) {
    Json parts = Json::array();
    for (size_t i = 0; i < place.part_urls.size(); ++i) {
      const ByteRange range{i * place.part_bytes,
                            std::min((i + 1) * place.part_bytes, file.n_bytes)};
      const std::string etag = TRY(send_part(file, content, range, place.part_urls[i], {}));
      if (etag.empty())
        return fail(Code::corrupt, "{}: the hub's store names no ETag of part {}", file.path,
                    i + 1);
      parts.push_back(Json{{"partNumber", i + 1}, {"etag", etag}});
    }
    TRY(check_url(place.url));
    Json body{{"oid", file.sha256}};
    body["parts"] = std::move(parts);
    TRY(post(place.url, body.dump(), kLfsType, "joining the parts of " + file.path));
    return {};
  }

  // The answer's ETag.
  Result<std::string> send_part(const PushFile& file, const PushContent& content, ByteRange range,
                                const std::string& url, const std::vector<std::string>& headers) {
    TRY(check_url(url));
    HttpExchange exchange;
    exchange.method = "PUT";
    exchange.url = url;
    exchange.headers = headers;
    exchange.timeout_ms = 0;
    exchange.body_bytes = range.size();
    exchange.body_part = [&](uint64_t offset, std::span<char> part) -> Status {
      const Bytes from = content.bytes().subspan(range.begin + offset, part.size());
      std::ranges::copy(as_text(from), part.begin());
      if (content.file()) content.file()->forget(from);
      if (show(file, range.begin + offset)) return {};
      return fail(Code::cancelled, "{}: stopped", file.path);
    };
    HttpAnswerHead head;
    TRY(answer_to(exchange, "sending " + file.path, &head));
    const std::string_view etag = head.header("etag");
    return std::string(etag.size() <= kMaxEtag ? etag : std::string_view());
  }

  // Contents go neither to what is no URL nor from https to http.
  Status check_url(const std::string& url) const {
    TRY(redirected(http_.options().endpoint, url));
    return {};
  }

  bool show(const PushFile& file, uint64_t n_here) const {
    if (http_.cancellation().is_cancelled()) return false;
    return !options_.watch || options_.watch({file.path, n_done_ + n_here, n_bytes_, false});
  }

  // Lines of JSON.
  Result<std::string> commit_body(const std::vector<UploadMode>& modes) const {
    Json header{{"summary", options_.summary}, {"description", ""}};
    header["parentCommit"] = done_.commit;
    std::string body = Json{{"key", "header"}, {"value", header}}.dump() + "\n";
    for (size_t i = 0; i < files_.size(); ++i) {
      const PushFile& file = *files_[i];
      Json value{{"path", file.path}};
      if (modes[i].is_lfs) {
        value["algo"] = "sha256";
        value["oid"] = file.sha256;
        value["size"] = file.n_bytes;
      } else {
        const PushContent content = TRY(PushContent::open(file));
        value["content"] = base64_of(as_text(content.bytes()));
        value["encoding"] = "base64";
      }
      body += Json{{"key", modes[i].is_lfs ? "lfsFile" : "file"}, {"value", value}}.dump() + "\n";
      if (body.size() > kMaxAllInCommit)
        return fail(Code::invalid, "the commit would have more than {} bytes", kMaxAllInCommit);
    }
    return body;
  }

  // When the answer was lost the commit may have been made: then the repository has the files.
  Result<std::string> commit(const std::string& body) {
    HttpAnswerHead head;
    const Result<std::string> answer =
        post(api("commit/main"), body, "application/x-ndjson", "the commit", &head);
    if (answer) return read_commit_answer(*answer);
    if (head.status != 412 && !may_try_again(answer.error())) return tl::unexpected(answer.error());
    std::vector<PushFile> files;
    for (const PushFile* file : files_) files.push_back(*file);
    const Result<PushTarget> now = look_at_target(http_, target_.repo, files);
    if (now && now->there.size() == files.size()) return now->commit;
    if (head.status != 412) return tl::unexpected(answer.error());
    return fail(Code::unavailable, "{}: the repository has changed meanwhile; push again",
                target_.repo);
  }

  static constexpr std::string_view kJsonType = "application/json";
  static constexpr std::string_view kLfsType = "application/vnd.git-lfs+json";
  HubHttp& http_;
  const PushTarget& target_;
  const PushOptions& options_;
  std::vector<const PushFile*> files_;  // those that the hub does not have
  PushedModel done_;
  uint64_t n_done_ = 0;
  uint64_t n_bytes_ = 0;
};

// Whether the hub's file has these bytes.
Result<bool> is_same(const PushFile& file, const RepoFile& there) {
  if (!there.digest || there.n_bytes != file.n_bytes) return false;
  if (there.digest->kind == DigestKind::sha256) return there.digest->hex == file.sha256;
  if (!file.from.empty())
    return TRY(digest_of_file(file.from, DigestKind::git_blob)) == there.digest->hex;
  DigestStream stream = TRY(DigestStream::start(DigestKind::git_blob, file.text.size()));
  stream.add(as_bytes(file.text));
  return stream.finish() == there.digest->hex;
}

}  // namespace

Status describe_file(PushFile& file, const std::function<bool()>& goes_on) {
  TRY(check_file_path(file.path));
  constexpr size_t kPiece = 4 << 20;
  std::optional<MappedFile> mapped;
  if (!file.from.empty()) mapped = TRY(MappedFile::open(file.from));
  Bytes left = mapped ? mapped->bytes() : as_bytes(file.text);
  file.n_bytes = left.size();
  DigestStream stream = TRY(DigestStream::start(DigestKind::sha256, left.size()));
  while (!left.empty()) {
    if (!goes_on()) return fail(Code::cancelled, "{}: stopped", file.path);
    const Bytes piece = left.subspan(0, std::min(left.size(), kPiece));
    stream.add(piece);
    if (mapped) mapped->forget(piece);
    left = left.subspan(piece.size());
  }
  if (mapped) TRY(mapped->check_read());
  file.sha256 = stream.finish();
  return {};
}

Result<PushTarget> look_at_target(HubHttp& http, const std::string& repo,
                                  const std::vector<PushFile>& files) {
  TRY(check_repo(repo));
  PushTarget target{.repo = repo, .there = {}};
  const Result<RepoListing> listing = ask_listing(http, {.repo = repo});
  if (!listing) {
    if (listing.error().code() == Code::not_found) return target;
    return tl::unexpected(listing.error());
  }
  target.exists = true;
  target.commit = listing->commit;
  for (const RepoFile& there : listing->files) {
    if (there.path == "README.md") target.has_card = true;
    const auto file = std::ranges::find(files, there.path, &PushFile::path);
    if (file != files.end() && TRY(is_same(*file, there))) target.there.push_back(there.path);
  }
  return target;
}

Result<PushedModel> push_model(HubHttp& http, const PushTarget& target,
                               const std::vector<PushFile>& files, const PushOptions& options) {
  if (http.options().token.empty())
    return fail(Code::invalid, "a push needs a token that may write: set HF_TOKEN");
  if (files.size() > kMaxUploadFiles)
    return fail(Code::invalid, "at most {} files are pushed at a time", kMaxUploadFiles);
  return Push(http, target, files, options).run();
}

}  // namespace ruv
