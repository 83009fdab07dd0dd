// Names and values of the headers of one call, in one block of memory that is used again for the next call.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conclave::rpc {

class Metadata {
 public:
  Metadata() = default;
  Metadata(std::initializer_list<std::pair<std::string_view, std::string_view>> entries) {
    for (const auto& [name, value] : entries) add(name, value);
  }

  // Names are lower case, as HTTP/2 wants them. Values of names that end in "-bin" are base64, as they
  // travel.
  void add(std::string_view name, std::string_view value) {
    entries_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())});
    text_.append(name).append(value);
  }
  void add_all(const Metadata& others) {
    for (std::size_t i = 0; i < others.size(); ++i) add(others[i].first, others[i].second);
  }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::pair<std::string_view, std::string_view> operator[](std::size_t i) const {
    const Entry& at = entries_[i];
    const std::string_view text = text_;
    return {text.substr(at.begin, at.name), text.substr(at.begin + at.name, at.value)};
  }
  // The first value of that name.
  std::optional<std::string_view> get(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i)
      if ((*this)[i].first == name) return (*this)[i].second;
    return std::nullopt;
  }
  // What HTTP/2 counts against the limit of a header list.
  std::size_t list_bytes() const { return text_.size() + 32 * entries_.size(); }
  // Nothing more is added: what it grew to beyond that is given back, if it is much.
  void settle() {
    if (text_.capacity() > worth_keeping) text_.shrink_to_fit();
  }
  void clear() {
    if (text_.capacity() > worth_keeping) *this = {};
    text_.clear();
    entries_.clear();
  }

 private:
  static constexpr std::size_t worth_keeping = 1024;
  struct Entry {
    std::uint32_t begin, name, value;
  };
  std::string text_;
  std::vector<Entry> entries_;
};

}  // namespace conclave::rpc
