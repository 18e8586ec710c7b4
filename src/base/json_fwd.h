// The name Json without its definition.
#pragma once

namespace ruv {
class Json;
}
