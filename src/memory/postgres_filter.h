// A filter of metadata as PostgreSQL has it.
#pragma once

#include <string>

#include "memory/metadata_filter.h"
#include "memory/postgres_wire.h"

namespace ruv {

// A condition on `documents.fields`, a jsonb, whose keys and values are added to `values`. "true"
// where the filter is empty.
std::string postgres_condition(const MetadataFilter& filter, PostgresValues& values);

}  // namespace ruv
