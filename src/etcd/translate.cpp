#include "etcd/translate.hpp"

#include <algorithm>

namespace conclave::etcd {
namespace {

namespace pb = etcdserverpb;
using Error = std::unexpected<rpc::Status>;

constexpr int deepest = 32;  // transactions in transactions; what they may contain ends earlier

std::expected<kv::Compare, rpc::Status> compare_of(const pb::Compare& said) {
  if (!pb::Compare::CompareResult_IsValid(said.result()) ||
      !pb::Compare::CompareTarget_IsValid(said.target()))
    return Error({rpc::Code::invalid_argument, "etcdserver: unknown comparison"});
  kv::Compare compare = {.result = static_cast<kv::CompareResult>(said.result()),
                         .target = static_cast<kv::CompareTarget>(said.target()),
                         .key = said.key(),
                         .range_end = said.range_end()};
  switch (compare.target) {
    case kv::CompareTarget::version: compare.number = said.version(); break;
    case kv::CompareTarget::create: compare.number = said.create_revision(); break;
    case kv::CompareTarget::mod: compare.number = said.mod_revision(); break;
    case kv::CompareTarget::lease: compare.number = said.lease(); break;
    case kv::CompareTarget::value: compare.value = said.value(); break;
  }
  return compare;
}

std::expected<kv::Txn, rpc::Status> txn_of(const pb::TxnRequest& said, int depth);

std::expected<kv::Op, rpc::Status> op_of(const pb::RequestOp& said, int depth) {
  switch (said.request_case()) {
    case pb::RequestOp::kRequestPut: return kv::Op{command_of(said.request_put())};
    case pb::RequestOp::kRequestDeleteRange: return kv::Op{command_of(said.request_delete_range())};
    case pb::RequestOp::kRequestRange: {
      auto range = command_of(said.request_range());
      if (!range) return Error(range.error());
      return kv::Op{*range};
    }
    case pb::RequestOp::kRequestTxn: {
      auto txn = txn_of(said.request_txn(), depth + 1);
      if (!txn) return Error(txn.error());
      return kv::Op{std::move(*txn)};
    }
    case pb::RequestOp::REQUEST_NOT_SET: break;
  }
  return Error({rpc::Code::invalid_argument, "etcdserver: key not found"});
}

std::expected<kv::Txn, rpc::Status> txn_of(const pb::TxnRequest& said, int depth) {
  if (depth > deepest)
    return Error({rpc::Code::invalid_argument, "etcdserver: too many operations in txn request"});
  kv::Txn txn;
  for (const pb::Compare& one : said.compare()) {
    auto compare = compare_of(one);
    if (!compare) return Error(compare.error());
    txn.compare.push_back(*compare);
  }
  for (const bool then : {true, false}) {
    for (const pb::RequestOp& one : then ? said.success() : said.failure()) {
      auto op = op_of(one, depth);
      if (!op) return Error(op.error());
      (then ? txn.success : txn.failure).push_back(std::move(*op));
    }
  }
  return txn;
}

}  // namespace

kv::Put command_of(const pb::PutRequest& said) {
  return {.key = said.key(),
          .value = said.value(),
          .lease = said.lease(),
          .prev_kv = said.prev_kv(),
          .ignore_value = said.ignore_value(),
          .ignore_lease = said.ignore_lease()};
}

kv::DeleteRange command_of(const pb::DeleteRangeRequest& said) {
  return {.key = said.key(), .range_end = said.range_end(), .prev_kv = said.prev_kv()};
}

std::expected<kv::Range, rpc::Status> command_of(const pb::RangeRequest& said) {
  if (!pb::RangeRequest::SortOrder_IsValid(said.sort_order()) ||
      !pb::RangeRequest::SortTarget_IsValid(said.sort_target()))
    return Error({rpc::Code::invalid_argument, "etcdserver: invalid sort option"});
  return kv::Range{.key = said.key(),
                   .range_end = said.range_end(),
                   .limit = said.limit(),
                   .revision = said.revision(),
                   .sort_order = static_cast<kv::SortOrder>(said.sort_order()),
                   .sort_target = static_cast<kv::SortTarget>(said.sort_target()),
                   .keys_only = said.keys_only(),
                   .count_only = said.count_only(),
                   .min_mod_revision = said.min_mod_revision(),
                   .max_mod_revision = said.max_mod_revision(),
                   .min_create_revision = said.min_create_revision(),
                   .max_create_revision = said.max_create_revision()};
}

std::expected<kv::Txn, rpc::Status> command_of(const pb::TxnRequest& said) { return txn_of(said, 0); }

bool only_reads(const pb::TxnRequest& request) {
  const auto reads = [](const pb::RequestOp& op) {
    return op.has_request_range() || (op.has_request_txn() && only_reads(op.request_txn()));
  };
  return std::ranges::all_of(request.success(), reads) && std::ranges::all_of(request.failure(), reads);
}

namespace {

// How many reads there are, and how many of them take what is old.
struct Reads {
  int all = 0;
  int serializable = 0;
  void add(const pb::TxnRequest& request) {
    for (const auto* ops : {&request.success(), &request.failure()}) {
      for (const pb::RequestOp& op : *ops) {
        if (op.has_request_txn()) add(op.request_txn());
        all += op.has_request_range();
        serializable += op.has_request_range() && op.request_range().serializable();
      }
    }
  }
};

}  // namespace

bool is_serializable(const pb::TxnRequest& request) {
  Reads reads;
  reads.add(request);
  return reads.all > 0 && reads.serializable == reads.all;
}

mvccpb::KeyValue message_of(const kv::RecordRef& record) {
  mvccpb::KeyValue told;
  told.set_key(std::string(record.key()));
  told.set_mod_revision(record->mod);
  if (record->is_deletion()) return told;
  told.set_create_revision(record->create());
  told.set_version(record->version());
  told.set_value(std::string(record->value()));
  told.set_lease(record->lease());
  return told;
}

void fill(pb::PutResponse& response, const kv::PutResult& result) {
  if (result.previous) *response.mutable_prev_kv() = message_of(result.previous);
}

void fill(mvccpb::Event& told, const kv::Event& event, bool with_previous) {
  if (event.now->is_deletion()) told.set_type(mvccpb::Event::DELETE);
  *told.mutable_kv() = message_of(event.now);
  if (with_previous && event.before) *told.mutable_prev_kv() = message_of(event.before);
}

}  // namespace conclave::etcd
