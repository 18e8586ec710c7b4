#include "learn/usual_texts.h"

#include "ruv/prompts.h"
#include "text/tokenizer.h"

namespace ruv {
namespace {

// Plain prose of several kinds. What they say does not matter, and what a model thinks of them is
// measured before anything is learned.
constexpr const char* kSentences[] = {
    "The train left the station at half past seven, and most of the seats were empty.",
    "Water boils at a lower temperature on a high mountain than it does by the sea.",
    "She put the letter on the table, closed the window and went down to the garden.",
    "A small library opened in the village last spring. Children like to read there after school.",
    "To make tea, heat some water, pour it over the leaves and wait for three minutes.",
    "He asked the driver how far it was to the old bridge, but the driver did not know.",
    "Bread is made of flour, water and salt, and a little yeast makes it rise.",
    "In winter the lake freezes, and people walk across it to the island.",
    "If the number is even, divide it by two; else multiply it by three and add one.",
    "The function returns the sum of its two arguments, or an error if one of them is missing.",
};

// Answers that most models give. One whose loss rises is lost, whatever the mean says.
struct ShortAnswer {
  const char *question, *answer;
};
constexpr ShortAnswer kAnswers[] = {
    {"What is the capital of France?", "The capital of France is Paris."},
    {"What is two plus three?", "Two plus three is five."},
    {"Hello! How are you?", "Hello! I am well, thank you. How can I help you?"},
    {"Which colour does the sky have on a clear day?", "The sky is blue on a clear day."},
    {"Name three animals.", "A dog, a cat and a horse."},
    {"Thank you!", "You are welcome!"},
    {"What do bees make?", "Bees make honey."},
    {"How many days does a week have?", "A week has seven days."},
};

// All tokens but the first count.
Result<JudgedText> sentence(const Model& model, const char* text) {
  JudgedText made{.tokens = TRY(tokenize(model, text))};
  made.weights.assign(made.tokens.size(), 1);
  if (!made.weights.empty()) made.weights[0] = 0;
  return made;
}

// The answer alone counts: to a conversation where the model can chat, else to a text.
Result<JudgedText> short_answer(const Model& model, const ShortAnswer& pair) {
  JudgedText made;
  if (can_chat(model).ok()) {
    Conversation conversation;
    conversation.messages.push_back(text_message("user", pair.question));
    made.tokens = TRY(tokenize_chat(model, conversation));
  } else {
    made.tokens = TRY(tokenize(model, fmt::format("Question: {}\nAnswer: ", pair.question)));
  }
  made.weights.assign(made.tokens.size(), 0);
  model.tokenizer->encode(pair.answer, SpecialParsing::off, true, made.tokens);
  made.weights.resize(made.tokens.size(), 1);
  return made;
}

}  // namespace

Result<UpdateTexts> usual_update_texts(const Model& model) {
  if (model.tokenizer == nullptr) {
    return fail(Code::unsupported,
                "learning: the model has no tokenizer; give the texts of the gate as ids");
  }
  UpdateTexts texts;
  for (const char* const text : kSentences) texts.held_out.push_back(TRY(sentence(model, text)));
  for (const ShortAnswer& pair : kAnswers) {
    texts.canaries.push_back(TRY(short_answer(model, pair)));
  }
  rehearse_half(texts);
  return texts;
}

}  // namespace ruv
