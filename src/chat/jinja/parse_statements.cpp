// Statements of templates, the parser's basic operations, and the bookkeeping of names: which scope
// a name belongs to is decided here, as Jinja's compiler decides it.
#include <algorithm>
#include <array>

#include "chat/jinja/parser.h"

namespace ruv::jinja {

// Lexes and parses. A missing filter or test that is always reached is reported last, after syntax
// errors.
Result<TemplateProgram> parse_template(std::string_view source) {
  TemplateParser parser(TRY(lex(source)));
  return parser.parse();
}

Result<TemplateProgram> TemplateParser::parse() {
  program_.loop = id_of("loop");
  program_.caller = id_of("caller");
  program_.varargs = id_of("varargs");
  program_.kwargs = id_of("kwargs");
  program_.self = id_of("self");
  special_names_.emplace_back();
  frames_.emplace_back();
  program_.body.statements = TRY(statements({}));
  if (!missing_.empty())
    return fail(Code::unsupported, "{}: {}", describe(missing_[0].first), missing_[0].second);
  settle_frames();
  program_.reads_self = special_names_[0][3] == FirstUse::read;
  return std::move(program_);
}

// Skips the current lexeme if it is this name; skip_sign does the same for signs.
bool TemplateParser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  advance();
  return true;
}

bool TemplateParser::skip_sign(std::string_view sign) {
  if (!current().is_sign(sign)) return false;
  advance();
  return true;
}

tl::unexpected<Status> TemplateParser::error(std::string_view what, Code code) const {
  return fail(code, "{}: {}", describe(current().place), what);
}

namespace {

// A lexeme as it is quoted in errors.
std::string shown(const Lexeme& lexeme) {
  switch (lexeme.kind) {
    case LexemeKind::text:
      return "text outside of tags";
    case LexemeKind::variable_begin:
      return "'{{'";
    case LexemeKind::variable_end:
      return "'}}'";
    case LexemeKind::block_begin:
      return "'{%'";
    case LexemeKind::block_end:
      return "'%}'";
    case LexemeKind::integer:
    case LexemeKind::real:
      return "a number";
    case LexemeKind::string:
      return "a string";
    case LexemeKind::end:
      return "the end of the template";
    default:
      return "'" + lexeme.text + "'";
  }
}

}  // namespace

tl::unexpected<Status> TemplateParser::unexpected_here() const {
  return error("unexpected " + shown(current()));
}

Status TemplateParser::expect_sign(std::string_view sign) {
  if (skip_sign(sign)) return Status();
  return error(fmt::format("expected '{}', found {}", sign, shown(current())));
}

Result<std::string> TemplateParser::expect_name() {
  if (current().kind != LexemeKind::name)
    return error("expected a name, found " + shown(current()));
  std::string name = current().text;
  advance();
  return name;
}

Status TemplateParser::expect_block_end() {
  if (current().kind != LexemeKind::block_end)
    return error("expected '%}', found " + shown(current()));
  advance();
  return Status();
}

// The number of a name, assigned at its first appearance.
NameId TemplateParser::id_of(std::string_view name) {
  const auto [it, added] =
      ids_.try_emplace(std::string(name), static_cast<NameId>(program_.names.size()));
  if (added) program_.names.emplace_back(name);
  return it->second;
}

// Records all names of a target.
void TemplateParser::touch(const AssignTarget& target) {
  for (const AssignTarget& part : target.parts) touch(part);
  if (!target.is_tuple) touch(target.name);
}

// Remembers whether caller, varargs, kwargs or self is read or written first.
void TemplateParser::note_first_use(NameId name, bool is_read) {
  const std::array<NameId, 4> special = {program_.caller, program_.varargs, program_.kwargs,
                                         program_.self};
  const auto found = std::find(special.begin(), special.end(), name);
  if (found == special.end()) return;
  for (SpecialNames& names : special_names_) {
    FirstUse& use = names[static_cast<size_t>(found - special.begin())];
    if (use == FirstUse::none) use = is_read ? FirstUse::read : FirstUse::write;
  }
}

// A name that is assigned before any read, outside of conditions, starts undefined.
void TemplateParser::store(NameId name) {
  Frame& frame = frames_[frame_];
  if (frame.touched.insert(name).second && frame.branches == 0) frame.set_first.push_back(name);
}

void TemplateParser::store(const AssignTarget& target) {
  for (const AssignTarget& part : target.parts) store(part);
  if (target.is_tuple) return;
  // Setting a member reads the namespace.
  target.member.empty() ? store(target.name) : touch(target.name);
}

// Begins a scope inside the current one.
void TemplateParser::open_frame(ScopeBody& body) {
  frames_.emplace_back();
  frames_.back().parent = frame_;
  frames_.back().body = &body;
  frame_ = frames_.size() - 1;
}

// A name that a scope around touches lives there; only others are undefined at first.
void TemplateParser::settle_frames() {
  frames_[0].body = &program_.body;
  for (const Frame& frame : frames_) {
    for (const NameId name : frame.set_first) {
      const Frame* around = &frame;
      bool found = false;
      while (!found && around != &frames_[around->parent]) {
        around = &frames_[around->parent];
        found = around->touched.count(name) > 0;
      }
      if (!found) frame.body->unset.push_back(name);
    }
  }
}

Status TemplateParser::check_nesting() const {
  if (depth_ <= kMaxParseDepth) return Status();
  return error(fmt::format("nested deeper than {}", kMaxParseDepth));
}

// Stops at a block tag whose name is one of `ends`, with the name as the current lexeme, or at the
// end of the template.
Result<StatementList> TemplateParser::statements(std::initializer_list<std::string_view> ends) {
  const Nesting nesting(depth_);
  TRY(check_nesting());
  StatementList out;
  while (current().kind != LexemeKind::end) {
    if (current().kind == LexemeKind::block_begin) {
      const bool closing = following().kind == LexemeKind::name &&
                           std::find(ends.begin(), ends.end(), following().text) != ends.end();
      if (closing) {
        advance();
        return out;
      }
    }
    TRY(statement(out));
  }
  if (ends.size() > 0)
    return error(fmt::format("the template ends before {{% {} %}}", *(ends.end() - 1)));
  return out;
}

// One statement: text, {{ … }} or {% … %}.
Status TemplateParser::statement(StatementList& out) {
  const Place place = current().place;
  if (current().kind == LexemeKind::text) {
    auto node = std::make_unique<TextNode>(place);
    node->text = current().text;
    advance();
    out.push_back(std::move(node));
    return Status();
  }
  if (current().kind == LexemeKind::variable_begin) {
    advance();
    auto node = std::make_unique<PrintNode>(place);
    node->value = TRY(tuple_or_expression());
    if (current().kind != LexemeKind::variable_end)
      return error("expected '}}', found " + shown(current()));
    advance();
    out.push_back(std::move(node));
    return Status();
  }
  advance();  // {%
  const Place name_place = current().place;
  const std::string tag = TRY(expect_name());
  out.push_back(TRY(block_statement(tag, name_place)));
  return Status();
}

// The statement of a tag. Unknown tags are unsupported, so that a template never renders wrongly.
Result<StatementPtr> TemplateParser::block_statement(std::string_view tag, Place place) {
  if (tag == "if") return if_statement(place);
  if (tag == "for") return for_statement(place);
  if (tag == "set") return set_statement(place);
  if (tag == "macro") return macro_statement(place);
  if (tag == "call") return call_statement(place);
  if (tag == "filter") return filter_statement(place);
  if (tag == "with") return with_statement(place);
  if (tag == "print") {
    auto all = std::make_unique<JoinNode>(place);
    do {
      all->operands.push_back(TRY(expression()));
    } while (skip_sign(","));
    TRY(expect_block_end());
    auto node = std::make_unique<PrintNode>(place);
    node->value = std::move(all);
    return node;
  }
  if (tag == "generation") {
    auto node = std::make_unique<WithNode>(place);
    node->is_generation = true;
    program_.has_generation = true;
    open_frame(node->body);
    TRY(scope_body(node->body, {"endgeneration"}));
    return node;
  }
  if (tag == "break" || tag == "continue") {
    if (loops_ == 0) return fail(Code::corrupt, "{}: '{}' outside of a loop", describe(place), tag);
    TRY(expect_block_end());
    return std::make_unique<LoopControlNode>(
        place, tag == "break" ? Flow::break_loop : Flow::continue_loop);
  }
  if (tag.starts_with("end") || tag == "else" || tag == "elif")
    return fail(Code::corrupt, "{}: '{}' closes nothing", describe(place), tag);
  return fail(Code::unsupported, "{}: unknown tag '{}'", describe(place), tag);
}

Result<StatementList> TemplateParser::body(std::initializer_list<std::string_view> ends,
                                           std::string* ended_by) {
  skip_sign(":");  // as in Python
  TRY(expect_block_end());
  StatementList out = TRY(statements(ends));
  if (ended_by) *ended_by = current().text;
  advance();
  if (!ended_by || *ended_by == *(ends.end() - 1)) TRY(expect_block_end());
  return out;
}

Status TemplateParser::scope_body(ScopeBody& out, std::initializer_list<std::string_view> ends,
                                  std::string* ended_by) {
  out.statements = TRY(body(ends, ended_by));
  close_frame();
  return Status();
}

// {% if %} with any number of {% elif %} and an optional {% else %}.
Result<StatementPtr> TemplateParser::if_statement(Place place) {
  auto node = std::make_unique<IfNode>(place);
  std::string ended_by = "elif";
  while (ended_by == "elif") {
    ++frames_[frame_].branches;
    ExprPtr condition = TRY(tuple_or_expression(false));
    node->branches.emplace_back(std::move(condition),
                                TRY(body({"elif", "else", "endif"}, &ended_by)));
    --frames_[frame_].branches;
  }
  ++frames_[frame_].branches;
  if (ended_by == "else") node->otherwise = TRY(body({"endif"}));
  --frames_[frame_].branches;
  return node;
}

// {% for target in items if condition recursive %}.
Result<StatementPtr> TemplateParser::for_statement(Place place) {
  auto node = std::make_unique<ForNode>(place);
  node->target = TRY(target(false));
  if (!skip_name("in")) return error("expected 'in', found " + shown(current()));
  node->iterable = TRY(tuple_or_expression(false));
  open_frame(node->body);
  touch(node->target);
  if (skip_name("if")) node->condition = TRY(expression());
  node->recursive = skip_name("recursive");
  std::string ended_by;
  ++loops_;
  Status loop_body = scope_body(node->body, {"else", "endfor"}, &ended_by);
  --loops_;
  TRY(std::move(loop_body));
  if (ended_by == "else") {
    open_frame(node->otherwise);
    TRY(scope_body(node->otherwise, {"endfor"}));
  }
  return node;
}

// {% set a = 1 %}, {% set ns.a = 1 %}, {% set a, b = … %} or a set block.
Result<StatementPtr> TemplateParser::set_statement(Place place) {
  AssignTarget filled = TRY(target(true));
  if (skip_sign("=")) {
    auto node = std::make_unique<SetNode>(place);
    node->target = std::move(filled);
    node->value = TRY(tuple_or_expression());
    store(node->target);
    TRY(expect_block_end());
    return node;
  }
  auto node = std::make_unique<SetBlockNode>(place);
  node->target = std::move(filled);
  store(node->target);
  if (current().is_sign("|")) node->filtered = TRY(filters_over_captured(false));
  open_frame(node->body);
  TRY(scope_body(node->body, {"endset"}));
  return node;
}

Result<AssignTarget> TemplateParser::target(bool with_namespace) {
  AssignTarget first = TRY(single_target(with_namespace));
  if (!current().is_sign(",")) return first;
  AssignTarget tuple;
  tuple.place = first.place;
  tuple.is_tuple = true;
  tuple.parts.push_back(std::move(first));
  while (skip_sign(",")) {
    if (current().kind != LexemeKind::name && !current().is_sign("(")) break;
    if (current().is_name("in")) break;
    tuple.parts.push_back(TRY(single_target(with_namespace)));
  }
  return tuple;
}

Result<AssignTarget> TemplateParser::single_target(bool with_namespace) {
  const Nesting nesting(depth_);
  TRY(check_nesting());
  AssignTarget out;
  out.place = current().place;
  if (skip_sign("(")) {
    out = TRY(target(with_namespace));
    TRY(expect_sign(")"));
    return out;
  }
  static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                    "True", "False", "None"};
  for (const std::string_view constant : kConstants)
    if (current().is_name(constant)) return error("a constant cannot be assigned to");
  out.name = id_of(TRY(expect_name()));
  if (with_namespace && skip_sign(".")) out.member = TRY(expect_name());
  if (out.member.empty()) note_first_use(out.name, false);
  return out;
}

// (a, b=1): parameters with defaults come last.
Result<std::vector<MacroParameter>> TemplateParser::signature() {
  std::vector<MacroParameter> out;
  TRY(expect_sign("("));
  while (!current().is_sign(")")) {
    if (!out.empty()) TRY(expect_sign(","));
    MacroParameter parameter;
    parameter.text = TRY(expect_name());
    parameter.name = id_of(parameter.text);
    for (const MacroParameter& earlier : out)
      if (earlier.name == parameter.name)
        return error(fmt::format("duplicate parameter '{}'", parameter.text));
    note_first_use(parameter.name, false);
    if (skip_sign("=")) {
      parameter.fallback = TRY(expression());
    } else if (!out.empty() && out.back().fallback) {
      return error("a parameter without a default follows one with a default");
    }
    out.push_back(std::move(parameter));
  }
  TRY(expect_sign(")"));
  return out;
}

// The body, and which of the special names it reads.
Status TemplateParser::macro_body(MacroBody& macro, std::string_view end) {
  special_names_.emplace_back();
  const int outer_loops = std::exchange(loops_, 0);
  open_frame(macro.body);
  for (const MacroParameter& parameter : macro.parameters) touch(parameter.name);
  Status inside = scope_body(macro.body, {end});
  loops_ = outer_loops;
  TRY(std::move(inside));
  const SpecialNames names = special_names_.back();
  special_names_.pop_back();
  macro.uses_caller = names[0] == FirstUse::read;
  macro.uses_varargs = names[1] == FirstUse::read && !macro.names_parameter("varargs");
  macro.uses_kwargs = names[2] == FirstUse::read && !macro.names_parameter("kwargs");
  return Status();
}

// A macro's name belongs to the scope around it.
Result<StatementPtr> TemplateParser::macro_statement(Place place) {
  auto node = std::make_unique<MacroNode>(place);
  node->macro.name = TRY(expect_name());
  node->name = id_of(node->macro.name);
  store(node->name);
  node->macro.parameters = TRY(signature());
  TRY(macro_body(node->macro, "endmacro"));
  return node;
}

Result<StatementPtr> TemplateParser::call_statement(Place place) {
  auto node = std::make_unique<CallBlockNode>(place);
  if (current().is_sign("(")) node->caller.parameters = TRY(signature());
  ExprPtr called = TRY(expression());
  // The last step must be a call; its arguments are taken over so that `caller` can join them.
  auto* postfix = dynamic_cast<PostfixNode*>(called.get());
  auto* step = postfix && !postfix->steps.empty()
                   ? dynamic_cast<CallStep*>(postfix->steps.back().get())
                   : nullptr;
  if (!step) return fail(Code::corrupt, "{}: 'call' needs a call", describe(place));
  node->arguments = std::move(step->arguments);
  postfix->steps.pop_back();
  node->callee = std::move(called);
  TRY(macro_body(node->caller, "endcall"));
  return node;
}

// {% filter upper|trim %}.
Result<StatementPtr> TemplateParser::filter_statement(Place place) {
  auto node = std::make_unique<FilterBlockNode>(place);
  node->filtered = TRY(filters_over_captured(true));
  open_frame(node->body);
  TRY(scope_body(node->body, {"endfilter"}));
  return node;
}

// Values are evaluated outside the new scope.
Result<StatementPtr> TemplateParser::with_statement(Place place) {
  auto node = std::make_unique<WithNode>(place);
  while (current().kind != LexemeKind::block_end && !current().is_sign(":")) {
    if (!node->values.empty()) TRY(expect_sign(","));
    AssignTarget filled = TRY(target(false));
    TRY(expect_sign("="));
    node->values.emplace_back(std::move(filled), TRY(expression()));
  }
  open_frame(node->body);
  for (const auto& entry : node->values) touch(entry.first);
  TRY(scope_body(node->body, {"endwith"}));
  return node;
}

}  // namespace ruv::jinja
