#include "etcd/translate.hpp"

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

void fill(pb::ResponseOp& told, const kv::OpResult& op, const pb::RequestOp& asked, kv::Revision revision) {
  if (const auto* put = std::get_if<kv::PutResult>(&op.result)) {
    told.mutable_response_put()->mutable_header()->set_revision(revision);
    etcd::fill(*told.mutable_response_put(), *put);
  } else if (const auto* range = std::get_if<kv::DeleteResult>(&op.result)) {
    told.mutable_response_delete_range()->mutable_header()->set_revision(revision);
    etcd::fill(*told.mutable_response_delete_range(), *range);
  } else if (const auto* read = std::get_if<kv::RangeResult>(&op.result)) {
    told.mutable_response_range()->mutable_header()->set_revision(revision);
    etcd::fill(*told.mutable_response_range(), *read, asked.request_range().keys_only());
  } else {
    told.mutable_response_txn()->mutable_header()->set_revision(revision);
    etcd::fill(*told.mutable_response_txn(), std::get<kv::TxnResult>(op.result), asked.request_txn(),
               revision);
  }
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

mvccpb::KeyValue message_of(const kv::RecordRef& record) {
  mvccpb::KeyValue told;
  told.set_key(std::string(record.key()));
  told.set_mod_revision(record->mod);
  if (record->is_deletion()) return told;
  told.set_create_revision(record->create);
  told.set_version(record->version);
  told.set_value(std::string(record->value()));
  told.set_lease(record->lease);
  return told;
}

void fill(pb::PutResponse& response, const kv::PutResult& result) {
  if (result.previous) *response.mutable_prev_kv() = message_of(result.previous);
}

void fill(pb::DeleteRangeResponse& response, const kv::DeleteResult& result) {
  response.set_deleted(static_cast<std::int64_t>(result.deleted));
  for (const kv::RecordRef& record : result.previous) *response.add_prev_kvs() = message_of(record);
}

void fill(pb::RangeResponse& response, const kv::RangeResult& result, bool keys_only) {
  for (const kv::RecordRef& record : result.kvs) {
    mvccpb::KeyValue& told = *response.add_kvs();
    told = message_of(record);
    if (keys_only) told.clear_value();
  }
  response.set_more(result.more);
  response.set_count(static_cast<std::int64_t>(result.count));
}

void fill(pb::TxnResponse& response, const kv::TxnResult& result, const pb::TxnRequest& request,
          kv::Revision revision) {
  response.set_succeeded(result.succeeded);
  const auto& asked = result.succeeded ? request.success() : request.failure();
  for (std::size_t i = 0; i < result.results.size(); ++i)
    fill(*response.add_responses(), result.results[i], asked[static_cast<int>(i)], revision);
}

void fill(mvccpb::Event& told, const kv::Event& event, bool with_previous) {
  if (event.now->is_deletion()) told.set_type(mvccpb::Event::DELETE);
  *told.mutable_kv() = message_of(event.now);
  if (with_previous && event.before) *told.mutable_prev_kv() = message_of(event.before);
}

}  // namespace conclave::etcd
