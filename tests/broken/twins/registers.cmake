# twin(name, what it does wrong, the line, what stands there instead)

begin_twins(dijkstra Dijkstra dijkstra JUDGE mutex::Judge)
twin(does_not_look "enters without asking whether somebody else occupies"
  "if (j != self.value && occupied == 0) {"
  "if (j != self.value && occupied == 0 && n == 0) {")
twin(ignores_the_sentinel "occupies whoever the sentinel names"
  "case Label::L1: label = read == self.value ? Label::L4 : Label::L2; break;"
  "case Label::L1: label = Label::L4; break;"
  "nodes=2 entries=1 starvation=1")
twin(stays_booked "never unbooks: the sentinel stays with it"
  "return by_b ? Access::write(b(self.value), 1, Order::relaxed)"
  "return by_b ? Access{}"
  "nodes=2 entries=1 starvation=1")
twin(skips_the_last "does not look at the last process"
  "if (j < n) {"
  "if (j + 1 < n) {")
twin(fence_stands_still "gives every entry the same fence"
  "Access::write(counter(), entries + 1, Order::relaxed);"
  "Access::write(counter(), entries, Order::relaxed);")
end_twins()

begin_twins(bakery Bakery bakery JUDGE mutex::Judge)
twin(no_tie_break "lets an equal ticket pass"
  "std::pair(theirs, j) < std::pair(ticket, self.value)"
  "theirs < ticket")
twin(does_not_wait_for_choosers "does not wait for those who are choosing"
  "if (read == 0) label = Label::B2;"
  "label = Label::B2;")
twin(keeps_its_ticket "leaves without giving its ticket back"
  "return Access::write(num(self.value), 0, Order::release);"
  "return Access{};")
twin(always_one "draws the same number every time"
  "Access::write(num(self.value), 1 + greatest, ticket_order());"
  "Access::write(num(self.value), 1, ticket_order());")
twin(chooses_in_silence "does not say that it is choosing"
  "return Access::write(choosing(self.value), 1, barrier());"
  "return Access::write(choosing(self.value), 0, barrier());")
end_twins()
