#include "output_file.h"

#include "model/model.h"

namespace ruv {

Result<FileWriter> create_output(const std::string& path, bool force, const Model& model,
                                 const std::string& input) {
  FileTarget target{.replace = force};
  for (const MappedFile& file : model.file->files()) target.never.push_back(file.id());
  if (const Result<FileId> id = id_of(input)) target.never.push_back(*id);
  return FileWriter::create(path, std::move(target));
}

}  // namespace ruv
