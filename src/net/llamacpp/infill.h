// llama.cpp's route for editors: what belongs between the text before the cursor and the text after
// it.
#pragma once

#include "net/openai/answer_writer.h"
#include "net/openai/fields.h"
#include "net/openai/routes.h"

namespace ruv {

// The fields of POST /infill.
const BodyTable& infill_fields();
// Answers with "content" and "stop". `members`: the paths ("timings/prompt_n") of the members that
// an answer, or the last event of a stream, has alone; empty: it has all.
std::unique_ptr<AnswerWriter> infill_writer(AnswerHead head, std::vector<std::string> members = {});

Route infill_route(ServedModels& models);

}  // namespace ruv
