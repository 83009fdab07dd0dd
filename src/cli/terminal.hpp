// What all verbs share: how they speak to a person.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <expected>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::cli {

// Exit status of every verb.
inline constexpr int ok = 0;
inline constexpr int property_failed = 1;
inline constexpr int usage_error = 2;

// One line that says what is wrong and what would be right; returns usage_error.
int complain(std::string_view what);

bool on_terminal(std::FILE* stream);
bool use_colour();  // on a terminal, unless NO_COLOR is set
std::size_t terminal_width();

enum class Colour { none, red, green, yellow, dim, bold };
std::string paint(std::string_view text, Colour colour);

// A table whose columns are as wide as their widest cell. Cells may contain colour and UTF-8.
class Table {
 public:
  enum class Align { left, right };
  explicit Table(std::vector<Align> align) : align_(std::move(align)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void add_rule() { rows_.emplace_back(); }
  std::string to_string() const;

 private:
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;
};

// How many columns a text takes on the screen.
std::size_t columns(std::string_view text);

// A file that appears under its name only when it is complete: until then it stands beside it, and goes
// away again if it is not finished.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  std::ostream& stream() { return stream_; }
  // What went wrong, if anything did: a missing folder, a full disk.
  std::expected<void, std::string> finish();

 private:
  std::string failure() const;
  std::string path_;
  std::string beside_;
  std::ofstream stream_;
};

std::expected<void, std::string> write_file(const std::string& path, std::string_view contents);
std::expected<std::string, std::string> read_file(const std::string& path);

// 1234567 as 1,234,567.
std::string with_commas(std::uint64_t number);

}  // namespace conclave::cli
