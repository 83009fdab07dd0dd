// Space-time diagrams as vectors write them: events are "i.k", processes count from 1.
#pragma once
#include <optional>
#include <string>

#include "accept/vectors.hpp"
#include "causality/cut.hpp"

namespace conclave::accept {

class DrawnDiagram {
 public:
  // From events_per_process (or as many as are mentioned), messages and names.
  explicit DrawnDiagram(const Json& config);

  causality::Diagram diagram;

  std::string text(causality::EventId event) const;
  causality::EventId event(const Json& text) const;
  // By its name, or as i.k or i_k.
  std::optional<causality::EventId> find(const std::string& name) const;
  std::uint32_t process(const std::string& name) const;
  // A number per process, an event per process, or an object of either.
  causality::Cut cut(const Json& value) const;
  // The same cut, written as the sample is.
  Json written_like(const Json& sample, const causality::Cut& cut) const;

 private:
  Json names_;
  std::uint32_t first_ = 1;  // number of the first process
};

std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise);

// The list in the order of another with the same elements: for sets that are written as lists.
Json in_the_order_of(const Json& sample, Json list);

// The answer for each of an object's or a list's members, in the same form.
template <class Answer>
Json each_of(const Json& members, Answer answer) {
  Json answers = members.is_object() ? Json::object() : Json::array();
  for (const auto& [name, member] : members.items()) {
    if (members.is_object()) {
      answers[name] = answer(member);
    } else {
      answers.push_back(answer(member));
    }
  }
  return answers;
}

// Vectors on checkpoints: which sets of them are consistent, and where to recover.
Json checkpoint_answers(const Vector& vector);

}  // namespace conclave::accept
