// A folder of our own that goes away with everything in it.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace conclave::cli {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "conclave-XXXXXX").string();
    if (::mkdtemp(path.data())) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (there()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool there() const { return !path_.empty(); }  // it could be made
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace conclave::cli
