#include "etcd/pieces.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

#include "core/visit.hpp"
#include "rpc/offer.hpp"

namespace conclave::etcd {
namespace {

namespace pb = etcdserverpb;
using google::protobuf::io::CodedOutputStream;

// Where the bytes of a record go: they are counted first, and then written.
struct Counted {
  std::size_t bytes = 0;
  void text(std::string_view text) { bytes += text.size(); }
  void varint(std::uint64_t value) { bytes += CodedOutputStream::VarintSize64(value); }
  void base64(std::string_view text) { bytes += (text.size() + 2) / 3 * 4; }
};

struct Written {
  std::string& to;
  void text(std::string_view text) { to += text; }
  void varint(std::uint64_t value) {
    std::uint8_t buffer[10];
    const auto* const end = CodedOutputStream::WriteVarint64ToArray(value, buffer);
    to.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer));
  }
  void base64(std::string_view text) {
    if (text.empty()) return;
    const std::size_t before = to.size();
    to.resize(before + (text.size() + 2) / 3 * 4 + 1);  // OpenSSL writes a zero behind it
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(to.data() + before),
                    reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    to.pop_back();
  }
};

constexpr std::uint64_t tag_of_text(int field) { return static_cast<std::uint64_t>(field) << 3 | 2; }
constexpr std::uint64_t tag_of_number(int field) { return static_cast<std::uint64_t>(field) << 3; }

struct Number {
  int field;
  std::string_view name;
  std::int64_t value;
};
struct Text {
  int field;
  std::string_view name;
  std::string_view value;
};

// What of it is told, in the order of the fields.
template <class See>
void for_each_field(const kv::RecordRef& record, bool keys_only, See see) {
  using Kv = mvccpb::KeyValue;
  see(Text{Kv::kKeyFieldNumber, "key", record.key()});
  see(Number{Kv::kCreateRevisionFieldNumber, "create_revision", record->create()});
  see(Number{Kv::kModRevisionFieldNumber, "mod_revision", record->mod});
  see(Number{Kv::kVersionFieldNumber, "version", record->version()});
  see(Text{Kv::kValueFieldNumber, "value", keys_only ? std::string_view() : record->value()});
  see(Number{Kv::kLeaseFieldNumber, "lease", record->lease()});
}

template <class To>
struct Protobuf {
  To& to;
  void operator()(const Number& number) {
    if (number.value == 0) return;
    to.varint(tag_of_number(number.field));
    to.varint(static_cast<std::uint64_t>(number.value));
  }
  void operator()(const Text& text) {
    if (text.value.empty()) return;
    to.varint(tag_of_text(text.field));
    to.varint(text.value.size());
    to.text(text.value);
  }
};

template <class To>
struct Json {
  To& to;
  std::string_view between = "{";
  void name(std::string_view name) {
    to.text(std::exchange(between, ","));
    to.text("\"");
    to.text(name);
    to.text("\":\"");
  }
  void operator()(const Number& number) {
    if (number.value == 0) return;
    name(number.name);
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number.value).ptr;
    to.text({digits, static_cast<std::size_t>(end - digits)});
    to.text("\"");
  }
  void operator()(const Text& text) {
    if (text.value.empty()) return;
    name(text.name);
    to.base64(text.value);
    to.text("\"");
  }
};

template <class To>
void tell(To& to, const kv::RecordRef& record, int field, bool keys_only, bool in_json, bool is_first) {
  if (in_json) {
    if (!is_first) to.text(",");
    for_each_field(record, keys_only, Json<To>{to});
    to.text("}");
    return;
  }
  Counted inside;
  for_each_field(record, keys_only, Protobuf<Counted>{inside});
  to.varint(tag_of_text(field));
  to.varint(inside.bytes);
  for_each_field(record, keys_only, Protobuf<To>{to});
}

// Parts of a message, one behind the other, are the message. All responses have their header first.
std::string header_text(const pb::ResponseHeader& header) {
  pb::RangeResponse part;
  *part.mutable_header() = header;
  return part.SerializeAsString();
}

std::string length_before(int field, std::size_t bytes) {
  std::string text;
  Written to{text};
  to.varint(tag_of_text(field));
  to.varint(bytes);
  return text;
}

std::string number_text(std::string_view name, std::uint64_t value) {
  return value == 0 ? "" : ",\"" + std::string(name) + "\":\"" + std::to_string(value) + "\"";
}

}  // namespace

Pieces::Pieces(bool in_json, const pb::ResponseHeader& header, Result result)
    : in_json_(in_json), header_(header), result_(std::move(result)) {
  gather(result_);
}

void Pieces::gather(std::span<kv::RecordRef> records, int field, bool keys_only) {
  lists_.push_back({.records = records, .field = field, .keys_only = keys_only});
}

void Pieces::gather(Result& result) {
  if (auto* range = std::get_if<kv::RangeResult>(&result))
    gather(range->kvs, pb::RangeResponse::kKvsFieldNumber, range->keys_only);
  if (auto* range = std::get_if<kv::DeleteResult>(&result))
    gather(range->previous, pb::DeleteRangeResponse::kPrevKvsFieldNumber);
  if (auto* txn = std::get_if<kv::TxnResult>(&result)) gather(*txn);
}

void Pieces::gather(kv::TxnResult& result) {
  for (kv::OpResult& op : result.results) {
    if (auto* range = std::get_if<kv::RangeResult>(&op.result))
      gather(range->kvs, pb::RangeResponse::kKvsFieldNumber, range->keys_only);
    if (auto* range = std::get_if<kv::DeleteResult>(&op.result))
      gather(range->previous, pb::DeleteRangeResponse::kPrevKvsFieldNumber);
    if (auto* put = std::get_if<kv::PutResult>(&op.result))
      gather({&put->previous, put->previous ? std::size_t{1} : 0}, pb::PutResponse::kPrevKvFieldNumber);
    if (auto* nested = std::get_if<kv::TxnResult>(&op.result)) gather(*nested);
  }
}

std::size_t Pieces::records() const {
  std::size_t sum = 0;
  for (const List& list : lists_) sum += list.records.size();
  return sum;
}

bool Pieces::measure(std::size_t& work) {
  if (measured_) return false;
  for (; list_ < lists_.size(); ++list_, record_ = 0) {
    List& list = lists_[list_];
    for (; record_ < list.records.size(); ++record_) {
      if (work == 0) return true;
      --work;
      Counted count;
      tell(count, list.records[record_], list.field, list.keys_only, in_json_, record_ == 0);
      list.bytes += count.bytes;
    }
  }
  measured_ = true;
  finish_measuring();
  return false;
}

void Pieces::finish_measuring() {
  if (in_json_) {
    list_ = 0;
    const std::string header = rpc::in_json(header_);
    visit_in_place(result_, [&](const auto& result) { append(result, header); });
    for (const Part& part : parts_) bytes_ += part.text.size() + (part.list ? part.list->bytes : 0);
  } else {
    visit_in_place(result_, [&](const auto& result) { bytes_ = prepend(result, header_text(header_)); });
    std::ranges::reverse(parts_);
  }
  list_ = 0;
}

// ---- protobuf

std::size_t Pieces::prepend(std::string text) {
  const std::size_t bytes = text.size();
  if (bytes > 0) parts_.push_back({.text = std::move(text)});
  return bytes;
}

std::size_t Pieces::prepend_list(const std::string& header, const std::string& rest) {
  const List& list = lists_[--list_];
  const std::size_t behind = prepend(rest);
  parts_.push_back({.text = header, .list = &list});
  return header.size() + list.bytes + behind;
}

std::size_t Pieces::prepend(const kv::RangeResult& range, const std::string& header) {
  pb::RangeResponse rest;
  rest.set_more(range.more);
  rest.set_count(static_cast<std::int64_t>(range.count));
  return prepend_list(header, rest.SerializeAsString());
}

std::size_t Pieces::prepend(const kv::DeleteResult& range, const std::string& header) {
  pb::DeleteRangeResponse deleted;
  deleted.set_deleted(static_cast<std::int64_t>(range.deleted));
  return prepend_list(header + deleted.SerializeAsString(), {});
}

std::size_t Pieces::prepend(const kv::PutResult&, const std::string& header) {
  return prepend_list(header, {});
}

std::size_t Pieces::prepend(const kv::TxnResult& txn, const std::string& header) {
  using Op = pb::ResponseOp;
  static constexpr int fields[] = {Op::kResponseRangeFieldNumber, Op::kResponsePutFieldNumber,
                                   Op::kResponseDeleteRangeFieldNumber, Op::kResponseTxnFieldNumber};
  pb::ResponseHeader nested;
  nested.set_revision(header_.revision());
  const std::string inner = header_text(nested);
  std::size_t sum = 0;
  for (auto op = txn.results.rbegin(); op != txn.results.rend(); ++op) {
    std::size_t inside = 0;
    visit_in_place(op->result, [&](const auto& one) { inside = prepend(one, inner); });
    inside += prepend(length_before(fields[op->result.index()], inside));
    inside += prepend(length_before(pb::TxnResponse::kResponsesFieldNumber, inside));
    sum += inside;
  }
  pb::TxnResponse succeeded;
  succeeded.set_succeeded(txn.succeeded);
  return sum + prepend(header + succeeded.SerializeAsString());
}

// ---- JSON

void Pieces::append(std::string_view text) {
  if (parts_.empty() || parts_.back().list != nullptr) parts_.emplace_back();
  parts_.back().text += text;
}

void Pieces::append_list(std::string_view before, std::string_view behind) {
  const List& list = lists_[list_++];
  if (list.records.empty()) return;
  append(before);
  parts_.back().list = &list;
  append(behind);
}

void Pieces::append(const kv::RangeResult& range, const std::string& header) {
  append("{\"header\":" + header);
  append_list(",\"kvs\":[", "]");
  append((range.more ? ",\"more\":true" : "") + number_text("count", range.count) + "}");
}

void Pieces::append(const kv::DeleteResult& range, const std::string& header) {
  append("{\"header\":" + header + number_text("deleted", range.deleted));
  append_list(",\"prev_kvs\":[", "]");
  append("}");
}

void Pieces::append(const kv::PutResult&, const std::string& header) {
  append("{\"header\":" + header);
  append_list(",\"prev_kv\":", "");
  append("}");
}

void Pieces::append(const kv::TxnResult& txn, const std::string& header) {
  append("{\"header\":" + header + (txn.succeeded ? ",\"succeeded\":true" : ""));
  const std::string nested = "{\"revision\":\"" + std::to_string(header_.revision()) + "\"}";
  static constexpr std::string_view names[] = {"response_range", "response_put", "response_delete_range",
                                               "response_txn"};
  std::string_view before = ",\"responses\":[{\"";
  for (const kv::OpResult& op : txn.results) {
    append(std::exchange(before, ",{\""));
    append(names[op.result.index()]);
    append("\":");
    visit_in_place(op.result, [&](const auto& one) { append(one, nested); });
    append("}");
  }
  append(txn.results.empty() ? "}" : "]}");
}

// ---- writing

bool Pieces::write(std::string& to, std::size_t about) {
  for (; part_ < parts_.size(); ++part_, record_ = 0) {
    Part& part = parts_[part_];
    to += std::exchange(part.text, {});
    if (!part.list) continue;
    const List& list = *part.list;
    for (; record_ < list.records.size(); ++record_) {
      if (to.size() >= about) return true;
      Written written{to};
      tell(written, list.records[record_], list.field, list.keys_only, in_json_, record_ == 0);
      list.records[record_] = {};
    }
  }
  return false;
}

bool Pieces::let_go(std::size_t& work) {
  for (; !lists_.empty(); lists_.pop_back()) {
    List& list = lists_.back();
    for (; !list.records.empty(); list.records = list.records.first(list.records.size() - 1)) {
      if (work == 0) return true;
      --work;
      list.records.back() = {};
    }
  }
  return false;
}

}  // namespace conclave::etcd
