// What a family's record says of a layer, in a few words for people.
#pragma once

#include <string>

#include "family/family.h"

namespace ruv {

// Features separated by ", ": those in which a layer differs from Llama's, which is the default of
// every field of a record. Numbers of a file are not known here, so a feature may be one that only
// some files of the family have.
std::string layer_words(const FamilyRecord& family);

}  // namespace ruv
