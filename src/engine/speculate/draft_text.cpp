#include "engine/speculate/draft_text.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {
namespace {

// Bytes before the end that may be tokenized differently once more text follows.
constexpr size_t kUnstableBytes = 16;

// Whether two tokenizers have equal texts under equal ids.
bool same_pieces(const Tokenizer& a, const Tokenizer& b) {
  const Token n = std::min(a.vocab_size(), b.vocab_size());
  std::string piece_a;
  std::string piece_b;
  for (Token id = 0; id < n; ++id) {
    piece_a.clear();
    piece_b.clear();
    a.append_bytes(id, true, piece_a);
    b.append_bytes(id, true, piece_b);
    if (piece_a != piece_b) return false;
  }
  return true;
}

}  // namespace

Result<VocabularyPair> VocabularyPair::create(const Tokenizer* target, int64_t n_target,
                                              const Tokenizer* draft, int64_t n_draft) {
  VocabularyPair pair;
  pair.target_ = target;
  pair.draft_ = draft;
  pair.n_target_ = n_target;
  pair.n_draft_ = n_draft;
  if (target != nullptr && draft != nullptr) {
    pair.equal_ = same_pieces(*target, *draft);
  } else if (n_target == n_draft) {
    pair.equal_ = true;
  } else {
    return fail(Code::invalid,
                "draft model: its vocabulary has {} tokens, the model's {}, and without a "
                "tokenizer in both files there is no text to go by; choose a draft model of the "
                "same family",
                n_draft, n_target);
  }
  return pair;
}

bool DraftText::update(std::span<const Token> sequence) {
  const auto begin = static_cast<size_t>(n_sequence_);
  CHECK(begin <= sequence.size());
  n_sequence_ = static_cast<int64_t>(sequence.size());
  const std::span<const Token> added = sequence.subspan(begin);
  if (!readable_ || added.empty()) return readable_;
  if (pair_->equal_) return update_ids(added);
  const size_t n_before = text_.size();
  append_text(added);
  if (readable_) encode_from(stable_tokens(n_before));
  return readable_;
}

bool DraftText::update_ids(std::span<const Token> added) {
  readable_ = std::ranges::all_of(added, [&](Token id) { return id < pair_->n_draft_; });
  if (readable_) tokens_.insert(tokens_.end(), added.begin(), added.end());
  return readable_;
}

void DraftText::append_text(std::span<const Token> added) {
  const Tokenizer& target = *pair_->target_;
  for (const Token id : added) {
    if (id >= target.vocab_size()) {
      readable_ = false;
      return;
    }
    // Each model has its own beginning of text.
    const std::span<const Token> first = target.spec().first_tokens();
    const bool begins = target.spec().bos == id || std::ranges::count(first, id) > 0;
    if (text_.empty() && begins) continue;
    target.append_bytes(id, true, text_);
  }
}

// Tokens whose text ends well before n_bytes and at the beginning of a word.
size_t DraftText::stable_tokens(size_t n_bytes) const {
  size_t n = tokens_.size();
  for (; n > 0; --n) {
    const size_t end = ends_[n - 1];
    if (end + kUnstableBytes <= n_bytes && (text_[end] == ' ' || text_[end] == '\n')) break;
  }
  return n;
}

// Encodes the text after the first n_kept tokens again.
void DraftText::encode_from(size_t n_kept) {
  const Tokenizer& draft = *pair_->draft_;
  tokens_.resize(n_kept);
  ends_.resize(n_kept);
  size_t end = n_kept > 0 ? ends_.back() : 0;
  if (n_kept == 0) {
    const std::span<const Token> first = draft.spec().first_tokens();
    tokens_.assign(first.begin(), first.end());
    ends_.assign(first.size(), 0);
  }
  const size_t n_before = tokens_.size();
  const std::string_view rest = std::string_view(text_).substr(end);
  draft.encode(rest, SpecialParsing::on, n_kept > 0, tokens_);
  std::string bytes;
  for (size_t i = n_before; i < tokens_.size(); ++i) {
    bytes.clear();
    draft.append_bytes(tokens_[i], true, bytes);
    // Where a normalizer changed the text, places are unknown until its end.
    const bool agrees = text_.compare(end, bytes.size(), bytes) == 0;
    end = agrees ? end + bytes.size() : text_.size();
    ends_.push_back(std::min(end, text_.size()));
  }
}

void DraftText::translate(std::span<const Token> drafted, std::vector<Token>& out) const {
  if (pair_->equal_) {
    const auto unknown =
        std::ranges::find_if(drafted, [&](Token id) { return id >= pair_->n_target_; });
    out.insert(out.end(), drafted.begin(), unknown);
    return;
  }
  std::string text;
  for (const Token id : drafted) {
    if (id >= pair_->draft_->vocab_size() || pair_->draft_->is_control(id)) break;
    pair_->draft_->append_bytes(id, true, text);
  }
  std::vector<Token> ids;
  pair_->target_->encode(text, SpecialParsing::off, true, ids);
  // The last word may not be whole: the model would say it in another token.
  if (ids.size() > 1) ids.pop_back();
  std::string bytes;
  size_t at = 0;
  for (const Token id : ids) {
    bytes.clear();
    pair_->target_->append_bytes(id, true, bytes);
    if (text.compare(at, bytes.size(), bytes) != 0 || at + bytes.size() > text.size()) return;
    at += bytes.size();
    out.push_back(id);
  }
}

}  // namespace ruv
