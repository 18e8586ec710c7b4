// TokenizeAnswer: the body of a /tokenize answer, written piece by piece. It can be many times as
// long as the input, so it never exists as a whole. Used by one thread at a time.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "net/openai/service.h"

namespace ruv {

// What the request asks for about each token.
struct TokenizeFields {
  bool ids = true;
  bool pieces = false;
  bool names = false;
  bool spans = false;
};

class TokenizeAnswer {
 public:
  TokenizeAnswer(const OpenAiService& service, TokenizedText text, TokenizeFields fields)
      : service_(service), text_(std::move(text)), fields_(fields) {}
  TokenizeAnswer(const TokenizeAnswer&) = delete;

  // The next bytes: about n_bytes, or all that are left. Empty: there are none.
  std::string next(size_t n_bytes);
  bool done() const { return list_ == List::none; }
  // Memory that the answer holds while it is written.
  size_t held_bytes() const;

 private:
  // The parts of the answer, in the order in which they are written.
  enum class List { head, tokens, names, spans, none };

  // Writes the next item or moves to the next list.
  void step();
  void begin(List list);
  // Whether the request asked for this list.
  bool has(List list) const;
  void write_item();
  void write_piece(Token id);

  const OpenAiService& service_;
  TokenizedText text_;
  TokenizeFields fields_;
  List list_ = List::head;
  NumberLog::Reader ids_{text_.log.ids};
  SpanLog::Reader spans_{text_.log.spans};
  std::string out_;
  JsonWriter writer_{out_};
};

}  // namespace ruv
