// TokenSink: receives the tokens of a text. It keeps their ids, their ids and places, or only their
// number. The algorithms report how many bytes of the normalised text each token covers; the sink
// tracks the position. Not thread-safe: a parallel encoder makes a part() per thread.
#pragma once

#include <span>
#include <vector>

#include "text/token_index.h"
#include "text/token_log.h"

namespace ruv {

class TokenSink {
 public:
  // Null ids: only counts. Null spans: places are not kept.
  explicit TokenSink(std::vector<Token>* ids, std::vector<TokenSpan>* spans = nullptr)
      : ids_(ids), spans_(spans) {}
  // Writes to a log. Slower, but millions of tokens take a third of the memory.
  explicit TokenSink(TokenLog& log, bool with_spans)
      : id_log_(&log.ids), span_log_(with_spans ? &log.spans : nullptr) {}

  bool keeps_spans() const { return spans_ != nullptr || span_log_ != nullptr; }
  size_t n_tokens() const { return n_tokens_; }
  // The last token, or -1 before the first.
  Token last() const { return last_; }

  // A token for the next n_bytes.
  void push(Token id, size_t n_bytes) {
    ++n_tokens_;
    last_ = id;
    if (ids_ != nullptr) ids_->push_back(id);
    if (id_log_ != nullptr) id_log_->push(static_cast<uint64_t>(id));
    if (keeps_spans()) push_span(n_bytes);
  }
  // The last token covers the next n_bytes as well.
  void extend(size_t n_bytes) {
    at_ += n_bytes;
    if (spans_ != nullptr && !spans_->empty()) spans_->back().end = static_cast<uint32_t>(at_);
    if (span_log_ != nullptr) span_log_->extend_last(static_cast<uint32_t>(at_));
  }
  // The next n_bytes produce no token.
  void skip(size_t n_bytes) { at_ += n_bytes; }
  // The tokens of a word, without places. Requires: !keeps_spans(); not empty.
  void push_word(std::span<const Token> ids) {
    n_tokens_ += ids.size();
    last_ = ids.back();
    if (ids_ != nullptr) ids_->insert(ids_->end(), ids.begin(), ids.end());
    log_ids(ids);
  }
  // Where the next token begins, in bytes of what is being encoded.
  void move_to(size_t at) { at_ = at; }
  size_t at() const { return at_; }
  // Allows up to n threads for long texts, 0 for one per core. The tokens do not depend on it.
  void limit_threads(int n) { n_threads_ = n; }
  int thread_limit() const { return n_threads_; }
  // A sink for a stretch of the text that another thread encodes. It keeps what this one keeps and
  // starts at this one's position; take() appends what it received.
  TokenSink part(std::vector<Token>& ids, std::vector<TokenSpan>& spans) const {
    TokenSink made(keeps_ids() ? &ids : nullptr, keeps_spans() ? &spans : nullptr);
    made.at_ = at_;
    made.n_threads_ = 1;
    return made;
  }
  // Appends what a part() received; parts must be taken in the order of the text.
  void take(const TokenSink& part) {
    n_tokens_ += part.n_tokens_;
    if (part.n_tokens_ > 0) last_ = part.last_;
    at_ = part.at_;
    if (ids_ != nullptr) ids_->insert(ids_->end(), part.ids_->begin(), part.ids_->end());
    if (spans_ != nullptr) spans_->insert(spans_->end(), part.spans_->begin(), part.spans_->end());
    if (id_log_ != nullptr) log_ids(*part.ids_);
    if (span_log_ == nullptr) return;
    for (const TokenSpan& span : *part.spans_) span_log_->push(span);
  }
  // Reserves memory for about n_bytes of text.
  void expect(size_t n_bytes) {
    if (ids_ != nullptr && n_bytes > kLongText) grow(ids_, n_bytes / 4);
    if (spans_ != nullptr && n_bytes > kLongText) grow(spans_, n_bytes / 4);
  }

 private:
  friend class SpanMap;
  static constexpr size_t kLongText = 4096;

  template <class T>
  static void grow(std::vector<T>* items, size_t n) {
    if (items->capacity() - items->size() < n) items->reserve(items->size() + n);
  }
  bool keeps_ids() const { return ids_ != nullptr || id_log_ != nullptr; }
  void log_ids(std::span<const Token> ids) {
    if (id_log_ == nullptr) return;
    for (const Token id : ids) id_log_->push(static_cast<uint64_t>(id));
  }
  // Records the place of a token and moves past it.
  void push_span(size_t n_bytes) {
    const TokenSpan span{static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + n_bytes)};
    at_ += n_bytes;
    if (spans_ != nullptr) {
      spans_->push_back(span);
    } else {
      span_log_->push(span);
    }
  }

  std::vector<Token>* ids_ = nullptr;
  std::vector<TokenSpan>* spans_ = nullptr;
  NumberLog* id_log_ = nullptr;
  SpanLog* span_log_ = nullptr;
  size_t n_tokens_ = 0;
  size_t at_ = 0;
  int n_threads_ = 0;
  Token last_ = -1;
};

// Maps the places of tokens from a text that was made from another one back to the original.
class SpanMap {
 public:
  // From here on the positions of `sink` are bytes of the made text.
  explicit SpanMap(TokenSink& sink) : base_(sink.at()) {
    if (sink.spans_ != nullptr) first_ = sink.spans_->size();
    if (sink.span_log_ != nullptr) logged_ = sink.span_log_->end();
    sink.move_to(0);
  }
  // Ends the mapping when the made text is the original, of n_bytes, with n bytes put before it.
  // Those bytes map to nothing.
  void drop_prefix(TokenSink& sink, size_t n, size_t n_bytes) const {
    if (!sink.keeps_spans()) return;
    const auto to = [&](uint32_t at) { return place(at < n ? 0 : at - n); };
    change_spans(sink, [&](TokenSpan span) { return TokenSpan{to(span.begin), to(span.end)}; });
    sink.move_to(base_ + n_bytes);
  }
  // Ends the mapping when byte i came from byte origin[i] of the original; `origin` ascends and
  // ends with the original's size. It is not read when places are not kept. With `shared`, equal
  // neighbours came from one character, and tokens of that character share its place.
  void trace(TokenSink& sink, std::span<const uint32_t> origin, bool shared) const {
    if (!sink.keeps_spans()) return;
    size_t after = 0;  // the first byte after the character that the token ends in
    change_spans(sink, [&](TokenSpan span) -> TokenSpan {
      after = span.end > after ? span.end : after;
      if (!shared || span.end <= span.begin) {
        return {place(origin[span.begin]), place(origin[span.end])};
      }
      while (after + 1 < origin.size() && origin[after] == origin[span.end - 1]) ++after;
      return {place(origin[span.begin]), place(origin[after])};
    });
    sink.move_to(base_ + origin.back());
  }

 private:
  // Changes the places pushed since the mapping began.
  template <class Change>
  void change_spans(TokenSink& sink, const Change& change) const {
    if (sink.span_log_ != nullptr) sink.span_log_->rewrite(logged_, change);
    if (sink.spans_ == nullptr) return;
    for (TokenSpan& span : std::span(*sink.spans_).subspan(first_)) span = change(span);
  }
  uint32_t place(size_t at) const { return static_cast<uint32_t>(base_ + at); }

  size_t base_ = 0;
  size_t first_ = 0;
  SpanLog::Place logged_;
};

}  // namespace ruv
