#include "monet/mpi/crew.h"

#include <fmt/format.h>

#include <set>
#include <thread>
#include <utility>

namespace monet::mpi {
namespace {

using search::Task;
using search::TaskResult;

// Between looks for messages: little beside a task, and looking takes 2 % of a core at most.
constexpr std::chrono::milliseconds kLook{2};
// So many ranks are told of news at every look; more of them, less often.
constexpr std::size_t kRanksAtOnce = 16;
// How long those that are at work are waited for when it is time to stop: a launcher that ends a job kills its ranks a
// second after it told them.
constexpr std::chrono::milliseconds kPatience{500};

std::string other_question(const Question& own, const Question& other) {
  for (const auto& [path, digest] : own.inputs)
    for (const auto& [other_path, other_digest] : other.inputs)
      if (path == other_path && digest != other_digest) return fmt::format("'{}' holds something else there", path);
  return "its command line or its version of monet is another";
}

void add_faults(std::vector<Diagnostic>& faults, std::size_t rank, const Hello& own, const Hello& hello) {
  const std::string who = fmt::format("rank {} on {}", rank, hello.host);
  if (hello.failure) {
    if (hello.failure->kind != Failure::Kind::Input)
      faults.push_back(
          {.where = who,
           .message = hello.failure->kind == Failure::Kind::Memory ? "out of memory" : hello.failure->text});
    for (Diagnostic d : hello.failure->diagnostics) {
      d.message = fmt::format("{}: {}", who, d.message);
      faults.push_back(std::move(d));
    }
  } else if (hello.question != own.question) {
    faults.push_back({.where = who,
                      .message = fmt::format("not what rank 0 on {} works on: {}", own.host,
                                             other_question(own.question, hello.question)),
                      .hint = "all ranks need the same program and the same files under the same names"});
  }
}

}  // namespace

struct Crew::Batch {
  std::span<const Task> tasks;
  std::uint64_t first_id;
  const search::Claim& claim;
  std::vector<TaskResult> results{};
  std::size_t next = 0;                                      // to be given
  bool is_claimed = false;                                   // the next one is to be
  std::set<std::size_t> open{};                              // given
  std::optional<std::pair<std::size_t, Failure>> failure{};  // the first in the order of tasks
  std::optional<std::chrono::steady_clock::time_point> halted{};

  // Tasks from the next one on that is to be given.
  std::size_t left() {
    while (!is_claimed && next < tasks.size() && !(is_claimed = !claim || claim(next))) ++next;
    return tasks.size() - next;
  }
  bool is_given_out() const { return next == tasks.size() || halted || failure; }
  // An earlier task that is still open may fail, too, and its exception is the one to throw.
  bool is_settled() const { return is_given_out() && (open.empty() || (failure && *open.begin() > failure->first)); }
};

Crew::Crew(Link link) : link_(std::move(link)), hellos_(link_.ranks), held_(link_.ranks, 0), efforts_(link_.ranks) {}

Crew::~Crew() {
  post_ = {};  // what it refers to may be gone
  dismiss();
}

void Crew::assemble(Hello own, Post post) {
  post_ = std::move(post);
  hellos_[0] = std::move(own);
  hellos_[0].question = post_.question;
  std::vector<Diagnostic> faults;
  for (std::size_t missing = link_.ranks - 1; missing > 0;) {
    std::optional<Envelope> envelope = link_.receive();
    if (!envelope) {
      std::this_thread::sleep_for(kLook);
      continue;
    }
    hellos_[envelope->from] = std::get<Hello>(unpack(envelope->bytes));
    --missing;
  }
  for (std::size_t r = 1; r < link_.ranks; ++r) add_faults(faults, r, hellos_[0], hellos_[r]);
  if (!faults.empty()) throw InputError(std::move(faults));
  own_.emplace(hellos_[0].threads, post_.run);
}

std::size_t Crew::hands() const {
  std::size_t sum = 0;
  for (const Hello& h : hellos_) sum += h.threads;
  return sum;
}

void Crew::give(Batch& batch, std::size_t rank) {
  Assignment one{batch.first_id + batch.next, batch.tasks[batch.next]};
  batch.open.insert(batch.next++);
  batch.is_claimed = false;
  ++held_[rank];
  if (rank == link_.rank)
    own_->give(std::move(one));
  else
    link_.send(rank, pack(one));
}

// First everybody gets something to do. Then all get as much again in reserve, so that they need not wait for the next
// message, nor for a result to be stored; but not of the last tasks: those are for whoever is idle first.
void Crew::hand_out(Batch& batch) {
  const std::size_t last = hands();
  for (const bool in_reserve : {false, true})
    for (bool is_given = true; is_given;) {
      is_given = false;
      for (std::size_t i = 0; i < link_.ranks; ++i) {
        const std::size_t r = in_reserve ? link_.ranks - 1 - i : i;  // messages take longest: the own rank last
        if (held_[r] >= hellos_[r].threads * (in_reserve ? 2 : 1)) continue;
        const std::size_t left = batch.left();
        if (left == 0 || (in_reserve && left <= last)) continue;
        give(batch, r);
        is_given = true;
      }
    }
}

void Crew::settle(Batch& batch, std::size_t rank, Done done,
                  const std::function<void(std::size_t, const TaskResult&)>& tell) {
  --held_[rank];
  efforts_[rank].busy_s += done.busy_s;
  efforts_[rank].tasks += done.result.empty() ? 0 : 1;
  if (done.id < batch.first_id) return;  // nobody waited for it any more
  const auto index = static_cast<std::size_t>(done.id - batch.first_id);
  batch.open.erase(index);
  if (done.failure) {
    if (rank != link_.rank) done.failure->text += fmt::format(" (rank {} on {})", rank, hellos_[rank].host);
    if (!batch.failure || index < batch.failure->first) batch.failure.emplace(index, std::move(*done.failure));
  } else if (!done.result.empty()) {
    batch.results[index] = std::move(done.result);
    tell(index, batch.results[index]);
  }
}

void Crew::halt(Batch& batch) {
  batch.halted = std::chrono::steady_clock::now();
  for (std::size_t r = 0; r < link_.ranks; ++r)
    if (r != link_.rank) link_.send(r, pack(Halt{}));
  for (const std::uint64_t id : own_->take_back()) {
    --held_[link_.rank];
    batch.open.erase(static_cast<std::size_t>(id - batch.first_id));
  }
}

void Crew::hear(std::size_t from, std::string mappings) {
  if (post_.learn) efforts_[from].mappings += post_.learn(mappings);
  news_.push_back({from, std::move(mappings)});
}

// Everything new to everybody but whoever said it, together: with many ranks, messages are what costs.
void Crew::pass_on() {
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < kLook * (1 + link_.ranks / kRanksAtOnce)) return;
  told_ = now;
  if (std::string own = post_.found ? post_.found() : ""; !own.empty()) news_.push_back({link_.rank, std::move(own)});
  for (std::size_t r = 0; r < link_.ranks; ++r) {
    News news;
    for (const Envelope& each : news_)
      if (r != link_.rank && r != each.from) news.mappings += each.bytes;
    if (!news.mappings.empty()) link_.send(r, pack(news));
  }
  news_.clear();
}

std::vector<TaskResult> Crew::work(std::span<const Task> tasks, const Deadline& deadline,
                                   const std::function<void(std::size_t, const TaskResult&)>& done,
                                   const search::Claim& claim) try {
  Batch batch{.tasks = tasks, .first_id = std::exchange(next_id_, next_id_ + tasks.size()), .claim = claim};
  batch.results.resize(tasks.size());
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    if (!batch.halted && deadline.is_over()) halt(batch);
    if (!batch.is_given_out()) hand_out(batch);
    if (batch.is_settled()) break;
    if (batch.halted && std::chrono::steady_clock::now() - *batch.halted > kPatience) break;
    for (Done& d : own_->finished(kLook)) settle(batch, link_.rank, std::move(d), done);
    while (std::optional<Envelope> envelope = link_.receive()) {
      Message message = unpack(envelope->bytes);
      if (News* news = std::get_if<News>(&message)) hear(envelope->from, std::move(news->mappings));
      if (Done* d = std::get_if<Done>(&message)) settle(batch, envelope->from, std::move(*d), done);
    }
    pass_on();
  }
  working_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (batch.failure) raise(batch.failure->second);
  return std::move(batch.results);
} catch (...) {
  own_.reset();  // whoever catches it may take away what tasks refer to
  post_ = {};
  throw;
}

void Crew::dismiss() {
  if (std::exchange(is_dismissed_, true)) return;
  for (std::size_t r = 0; r < link_.ranks; ++r)
    if (r != link_.rank) link_.send(r, pack(Leave{}));
  own_.reset();
  for (std::size_t missing = link_.ranks - 1; missing > 0;) {
    std::optional<Envelope> envelope = link_.receive();
    if (!envelope) {
      std::this_thread::sleep_for(kLook);
      continue;
    }
    Message message = unpack(envelope->bytes);  // may be something said before it heard of the end
    if (News* news = std::get_if<News>(&message)) hear(envelope->from, std::move(news->mappings));
    if (std::holds_alternative<Bye>(message)) --missing;
  }
}

void serve(const Link& link, Hello hello, const std::function<Post()>& prepare) noexcept {
  Post post;
  try {
    post = prepare();
    hello.question = post.question;
  } catch (...) {
    hello.failure = failure_of(std::current_exception());
  }
  link.send(0, pack(hello));
  std::optional<Hands> hands(std::in_place, hello.threads, post.run);
  const auto tell = [&] {
    if (std::string found = post.found ? post.found() : ""; !found.empty()) link.send(0, pack(News{std::move(found)}));
  };
  for (bool is_dismissed = false; !is_dismissed;) {
    const std::vector<Done> finished = hands->finished(kLook);
    tell();  // before the results: who has those has all that was found for them
    for (const Done& done : finished) link.send(0, pack(done));
    while (std::optional<Envelope> envelope = link.receive()) {
      Message message = unpack(envelope->bytes);
      if (Assignment* one = std::get_if<Assignment>(&message)) hands->give(std::move(*one));
      if (std::holds_alternative<Halt>(message))
        for (const std::uint64_t id : hands->take_back()) link.send(0, pack(Done{.id = id}));
      if (const News* news = std::get_if<News>(&message); news != nullptr && post.learn) post.learn(news->mappings);
      if (std::holds_alternative<Leave>(message)) is_dismissed = true;
    }
  }
  hands.reset();
  tell();
  link.send(0, pack(Bye{}));
}

}  // namespace monet::mpi
