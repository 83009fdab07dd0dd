#include "cli/serve_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "cli/terminal.hpp"

namespace conclave::cli {
namespace {

using Error = std::unexpected<std::string>;

// One file, and the first thing that is wrong with it.
class Reading {
 public:
  Reading(const std::string& path, const toml::table& table) : path_(path), table_(table) {}

  void text(std::string_view key, std::string& into) {
    take(key, into.empty(), [&](const toml::node& node) {
      const auto value = node.value_exact<std::string>();
      if (!value) return fail(node, key, "a text in quotes");
      into = *value;
    });
  }
  // A text, or a number that stands for itself.
  void word(std::string_view key, std::string& into) {
    take(key, into.empty(), [&](const toml::node& node) {
      const auto whole = node.value_exact<std::int64_t>();
      const auto value = whole ? std::to_string(*whole) : node.value_exact<std::string>();
      if (!value) return fail(node, key, "a whole number, or a text in quotes");
      into = *value;
    });
  }
  void seconds(std::string_view key, double& into) {
    take(key, into == 0, [&](const toml::node& node) {
      const auto value = node.value<double>();
      if (!value || *value <= 0) return fail(node, key, "a number of seconds above 0");
      into = *value;
    });
  }
  void id(std::string_view key, std::uint32_t& into) {
    take(key, into == 0, [&](const toml::node& node) {
      const auto value = node.value_exact<std::int64_t>();
      if (!value || *value < 1 || *value > UINT32_MAX) return fail(node, key, "a number from 1");
      into = static_cast<std::uint32_t>(*value);
    });
  }
  void numbers(std::string_view key, std::vector<std::uint64_t>& into) {
    take(key, into.empty(), [&](const toml::node& node) {
      const toml::array* all = node.as_array();
      if (!all) return fail(node, key, "a list of numbers from 1");
      for (const toml::node& one : *all) {
        const auto value = one.value_exact<std::int64_t>();
        if (!value || *value < 1) return fail(one, key, "a list of numbers from 1");
        into.push_back(static_cast<std::uint64_t>(*value));
      }
    });
  }
  void flag(std::string_view key, bool& into) {
    take(key, !into, [&](const toml::node& node) {
      const auto value = node.value_exact<bool>();
      if (!value) return fail(node, key, "true or false");
      into = *value;
    });
  }
  void list(std::string_view key, std::string& into) {
    std::vector<std::string> all;
    if (into.empty())
      pairs(key, all);
    else
      known_.push_back(key);
    if (!all.empty()) into = fmt::format("{}", fmt::join(all, ","));
  }
  // A table of "key = value", as the flags have it in one word each.
  void pairs(std::string_view key, std::vector<std::string>& into) {
    take(key, into.empty(), [&](const toml::node& node) {
      const toml::table* table = node.as_table();
      if (!table) return fail(node, key, "a table");
      for (const auto& [name, value] : *table) {
        std::string word;
        if (const auto words = value.value_exact<std::string>())
          word = *words;
        else if (const auto whole = value.value_exact<std::int64_t>())
          word = std::to_string(*whole);
        else
          return fail(value, key, "texts or whole numbers");
        into.push_back(fmt::format("{}={}", std::string_view(name.str()), word));
      }
    });
  }

  std::expected<void, std::string> finish() {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(known_, key.str()) == known_.end())
        fail(value, key.str(), fmt::format("known; {} are", fmt::join(known_, ", ")));
    }
    if (!wrong_.empty()) return Error(wrong_);
    return {};
  }

 private:
  template <class Take>
  void take(std::string_view key, bool open, Take&& take) {
    known_.push_back(key);
    const toml::node* node = table_.get(key);
    if (node && open) take(*node);
  }
  void fail(const toml::node& node, std::string_view key, std::string_view wanted) {
    if (wrong_.empty())
      wrong_ = fmt::format("{}:{}: '{}' is not {}", path_, node.source().begin.line, key, wanted);
  }

  const std::string& path_;
  const toml::table& table_;
  std::vector<std::string_view> known_;
  std::string wrong_;
};

}  // namespace

std::expected<void, std::string> read_plan(const std::string& path, ServePlan& plan) {
  const auto text = read_file(path);
  if (!text) return Error(text.error());
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed)
    return Error(
        fmt::format("{}:{}: {}", path, parsed.error().source().begin.line, parsed.error().description()));
  Reading file(path, parsed.table());
  file.text("engine", plan.engine);
  file.text("variant", plan.variant);
  file.id("id", plan.id);
  file.text("group", plan.group);
  file.list("members", plan.members);
  file.list("clients", plan.clients);
  file.list("via", plan.via);
  file.text("discover", plan.discover);
  file.id("expect", plan.expect);
  file.text("registry", plan.registry);
  file.text("listen", plan.listen);
  file.text("client", plan.client);
  file.text("data", plan.data);
  file.text("auto-compaction-mode", plan.compaction_mode);
  file.word("auto-compaction-retention", plan.retention);
  file.word("quota-backend-bytes", plan.quota);
  file.flag("join", plan.join);
  file.numbers("skip-entry", plan.skip_entries);
  file.text("key-file", plan.key_file);
  file.text("tls-cert", plan.tls_cert);
  file.text("tls-key", plan.tls_key);
  file.text("tls-ca", plan.tls_ca);
  file.flag("client-tls", plan.client_tls);
  file.text("client-ca", plan.client_ca);
  file.text("client-host", plan.client_hosts);
  file.text("client-memory", plan.client_memory);
  file.flag("insecure-clients", plan.insecure_clients);
  file.flag("insecure-members", plan.insecure_members);
  file.pairs("set", plan.set);
  file.seconds("down-after", plan.down_after);
  file.seconds("forget-after", plan.forget_after);
  file.text("trace", plan.trace);
  return file.finish();
}

}  // namespace conclave::cli
