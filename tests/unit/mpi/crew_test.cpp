#include "monet/mpi/crew.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace monet::mpi {
namespace {

using search::Task;
using search::TaskResult;

// Ranks that are threads here, with a box for what arrives at each.
class Network {
 public:
  explicit Network(std::size_t ranks) : boxes_(ranks) {}

  Link link(std::size_t rank) {
    Link link{rank, boxes_.size()};
    link.send = [this, rank](std::size_t to, std::string bytes) {
      const std::lock_guard lock(mutex_);
      boxes_[to].push_back({rank, std::move(bytes)});
    };
    link.receive = [this, rank]() -> std::optional<Envelope> {
      const std::lock_guard lock(mutex_);
      if (boxes_[rank].empty()) return std::nullopt;
      Envelope first = std::move(boxes_[rank].front());
      boxes_[rank].pop_front();
      return first;
    };
    return link;
  }
  // Anything that was sent and never looked at.
  bool is_empty() const {
    for (const auto& box : boxes_)
      if (!box.empty()) return false;
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<Envelope>> boxes_;
};

Task task_of(std::size_t i) { return {{static_cast<std::uint16_t>(i)}, {0}}; }
std::vector<Task> tasks_of(std::size_t count) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < count; ++i) tasks.push_back(task_of(i));
  return tasks;
}
TaskResult result_of(const Task& task) { return {{.latency_cycles = 1000.0 + task.candidate[0]}}; }

// A job: `act` is what the first rank does with its crew, `run` what each rank does with a task.
struct Job {
  std::size_t ranks = 2, threads = 1;
  std::function<TaskResult(std::size_t rank, const Task&)> run = [](std::size_t, const Task& t) {
    return result_of(t);
  };
  std::function<Post(std::size_t rank)> prepare = [this](std::size_t rank) {
    return Post{.question = {.digest = "same"}, .run = [this, rank](const Task& t) { return run(rank, t); }};
  };
  std::optional<Post> first{};  // of the first rank, if not what `prepare` makes

  Hello hello(std::size_t rank) const { return {.host = "node" + std::to_string(rank), .threads = threads}; }

  void with(const std::function<void(Crew&)>& act) const {
    Network network(ranks);
    std::vector<std::thread> others;
    for (std::size_t r = 1; r < ranks; ++r)
      others.emplace_back([&, r] { serve(network.link(r), hello(r), [&] { return prepare(r); }); });
    std::exception_ptr failure;
    try {
      Crew crew(network.link(0));
      crew.assemble(hello(0), first ? *first : prepare(0));
      act(crew);
    } catch (...) {
      failure = std::current_exception();
    }
    for (std::thread& other : others) other.join();
    EXPECT_TRUE(network.is_empty());
    if (failure) std::rethrow_exception(failure);
  }
};

// What the first rank would tell the user.
std::string refusal(const Job& job) {
  try {
    job.with([](Crew&) {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Crew, GivesResultsInTheOrderOfTasksWhoeverWorked) {
  for (const std::size_t ranks : {1, 2, 5})
    for (const std::size_t threads : {1, 3})
      Job{.ranks = ranks, .threads = threads}.with([&](Crew& crew) {
        for (const std::size_t count : {0, 1, 3, 64, 200}) {  // batch after batch, also fewer tasks than ranks
          const std::vector<Task> tasks = tasks_of(count);
          std::vector<int> told(count, 0);
          const std::vector<TaskResult> results = crew.work(tasks, {}, [&](std::size_t i, const TaskResult& r) {
            EXPECT_EQ(r, result_of(tasks[i]));
            ++told[i];
          });
          ASSERT_EQ(results.size(), count);
          for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(results[i], result_of(tasks[i]));
          EXPECT_EQ(told, std::vector<int>(count, 1));
        }
      });
}

TEST(Crew, LetsEveryRankWork) {
  std::vector<std::atomic<int>> done(3);
  Job{.ranks = 3,
      .run =
          [&](std::size_t rank, const Task& task) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            ++done[rank];
            return result_of(task);
          }}
      .with([](Crew& crew) { crew.work(tasks_of(30), {}, [](std::size_t, const TaskResult&) {}); });
  for (const std::atomic<int>& count : done) EXPECT_GE(count.load(), 5);
}

TEST(Crew, KeepsTasksInReserveAtTheOthersButNotTheLastOnes) {
  for (const auto& [count, expected] : std::vector<std::pair<std::size_t, std::size_t>>{{4, 1}, {5, 2}, {50, 2}}) {
    Network network(2);
    std::size_t given = 0;
    std::thread other([&, count = count] {
      const Link link = network.link(1);
      link.send(0, pack(Hello{.host = "node1"}));
      std::vector<Assignment> all;
      const auto look = [&] {
        while (std::optional<Envelope> e = link.receive()) {
          const Message message = unpack(e->bytes);
          if (const auto* one = std::get_if<Assignment>(&message)) all.push_back(*one);
          if (std::holds_alternative<Leave>(message)) return true;
        }
        return false;
      };
      while (all.empty()) look();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      look();
      given = all.size();  // before anything was answered
      for (std::size_t next = 0; !look();)
        for (; next < all.size(); ++next) link.send(0, pack(Done{all[next].id, result_of(all[next].task)}));
      link.send(0, pack(Bye{}));
    });
    {
      Crew crew(network.link(0));
      crew.assemble({}, {.run = [&](const Task& t) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(t.candidate[0] == 0 ? 40 : 0));
                      return result_of(t);
                    }});
      crew.work(tasks_of(count), {}, [](std::size_t, const TaskResult&) {});
    }
    other.join();
    EXPECT_EQ(given, expected) << count << " tasks";
  }
}

TEST(Crew, ThrowsTheExceptionOfTheFirstTaskThatFails) {
  for (const std::size_t ranks : {1, 2, 4}) {
    const Job job{.ranks = ranks, .run = [](std::size_t, const Task& task) {
                    const std::size_t i = task.candidate[0];
                    if (i == 20) std::this_thread::sleep_for(std::chrono::milliseconds(30));
                    if (i == 20) throw InputError(Diagnostic{.where = "task", .message = "the first"});
                    if (i == 21 || i == 22) throw std::runtime_error("a later one");
                    return result_of(task);
                  }};
    try {
      job.with([](Crew& crew) { crew.work(tasks_of(100), {}, [](std::size_t, const TaskResult&) {}); });
      FAIL();
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), "task: error: the first");
    }
  }
}

TEST(Crew, SaysAtWhichRankSomethingElseWentWrong) {
  try {
    Job{.run = [](std::size_t rank, const Task& task) {
      if (rank == 1) throw std::runtime_error("no such luck");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return result_of(task);
    }}.with([](Crew& crew) { crew.work(tasks_of(50), {}, [](std::size_t, const TaskResult&) {}); });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no such luck (rank 1 on node1)");
  }
}

TEST(Crew, PassesOnWhatTheListenerThrows) {
  EXPECT_THROW(Job{.ranks = 3}.with([](Crew& crew) {
    crew.work(tasks_of(50), {}, [](std::size_t i, const TaskResult&) {
      if (i == 10) throw InputError(Diagnostic{.message = "the disk is full"});
    });
  }),
               InputError);
}

TEST(Crew, BeginsNothingAfterTheDeadlineAndKeepsWhatWasUnderway) {
  std::atomic<bool> is_asked = false;
  std::atomic<int> begun = 0;
  Job{.ranks = 3,
      .run =
          [&](std::size_t, const Task& task) {
            ++begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return result_of(task);
          }}
      .with([&](Crew& crew) {
        std::size_t told = 0;
        const std::vector<TaskResult> results =
            crew.work(tasks_of(200), Deadline(std::nullopt, &is_asked), [&](std::size_t, const TaskResult&) {
              if (++told == 10) is_asked = true;
            });
        std::size_t done = 0;
        for (const TaskResult& r : results) done += r.empty() ? 0 : 1;
        EXPECT_EQ(done, told);
        EXPECT_EQ(static_cast<int>(done), begun.load());
        EXPECT_LE(done, 20u);
        EXPECT_EQ(results.size(), 200u);
        for (const TaskResult& r : crew.work(tasks_of(5), Deadline(std::nullopt, &is_asked), {}))
          EXPECT_TRUE(r.empty());
      });
}

TEST(Crew, DoesNotWaitForLongTasksWhenItIsToStop) {
  std::atomic<bool> is_asked = false, is_open = false;
  Job{.run = [&](std::size_t, const Task& task) {
    is_asked = true;
    while (!is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return result_of(task);
  }}.with([&](Crew& crew) {
    const auto start = std::chrono::steady_clock::now();
    for (const TaskResult& r : crew.work(tasks_of(9), Deadline(std::nullopt, &is_asked), {})) EXPECT_TRUE(r.empty());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    is_open = true;
    is_asked = false;
    // What comes late is not taken for something else.
    const std::vector<TaskResult> results =
        crew.work(tasks_of(9), {}, [](std::size_t i, const TaskResult& r) { EXPECT_EQ(r, result_of(task_of(i))); });
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(results[i], result_of(task_of(i)));
  });
}

TEST(Crew, RefusesRanksThatWorkOnSomethingElse) {
  Job job{.ranks = 3};
  job.prepare = [](std::size_t rank) { return Post{{.digest = rank == 2 ? "other" : "same"}, result_of, {}, {}}; };
  EXPECT_EQ(refusal(job),
            "rank 2 on node2: error: not what rank 0 on node0 works on: its command line or its version of monet is "
            "another (all ranks need the same program and the same files under the same names)");
  job.prepare = [](std::size_t) { return Post{{.digest = "same"}, result_of, {}, {}}; };
  EXPECT_EQ(refusal(job), "");
}

TEST(Crew, SaysWhichRankCannotWork) {
  Job job{.ranks = 3, .first = Post{}};
  job.prepare = [](std::size_t rank) -> Post {
    if (rank == 1) throw InputError(Diagnostic{.file = "m.onnx", .message = "no such file"});
    if (rank == 2) throw std::bad_alloc();
    return {};
  };
  EXPECT_EQ(refusal(job), "m.onnx: error: rank 1 on node1: no such file\nrank 2 on node2: error: out of memory");
}

// What the ranks of a job find and learn: a letter for each task they run, said while the task is running.
struct Gossip {
  explicit Gossip(std::size_t ranks) : found(ranks), learnt(ranks) {}
  std::mutex mutex;
  std::vector<std::string> found, learnt;  // by rank

  void find(std::size_t rank, char letter) {
    const std::lock_guard lock(mutex);
    found[rank] += letter;
  }
  bool has_learnt(std::size_t rank, char letter) {
    const std::lock_guard lock(mutex);
    return learnt[rank].find(letter) != std::string::npos;
  }
  Post post(std::size_t rank, RunTask run) {
    return {.question = {.digest = "same"},
            .run = std::move(run),
            .found =
                [this, rank] {
                  const std::lock_guard lock(mutex);
                  return std::exchange(found[rank], {});
                },
            .learn =
                [this, rank](std::string_view letters) {
                  const std::lock_guard lock(mutex);
                  learnt[rank] += letters;
                  return letters.size();
                }};
  }
};

std::string sorted(std::string text) {
  std::sort(text.begin(), text.end());
  return text;
}

bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 5000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (what()) return true;
  return false;
}

TEST(Crew, TellsEveryRankWhatTheOthersFindWhileTheyWork) {
  Gossip gossip(3);
  Job job{.ranks = 3};
  std::vector<std::string> own(3);
  job.prepare = [&](std::size_t rank) {
    return gossip.post(rank, [&, rank](const Task& task) {
      const char letter = static_cast<char>('a' + task.candidate[0]);
      gossip.find(rank, letter);
      own[rank] += letter;
      // Nobody's task ends before the letters of all others have come.
      for (const char other : {'a', 'b', 'c'})
        EXPECT_TRUE(other == letter || comes_true([&] { return gossip.has_learnt(rank, other); })) << rank << other;
      return result_of(task);
    });
  };
  job.with([&](Crew& crew) {
    crew.work(tasks_of(3), {}, [](std::size_t, const TaskResult&) {});
    crew.dismiss();
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(sorted(gossip.learnt[r] + own[r]), "abc") << r;  // none twice, nor what it said itself
      EXPECT_EQ(crew.efforts()[r].tasks, 1u);
      EXPECT_EQ(crew.efforts()[r].mappings, r == 0 ? 0u : 1u);
      EXPECT_GT(crew.efforts()[r].busy_s, 0);
      EXPECT_LE(crew.efforts()[r].busy_s, crew.working_s());
    }
  });
}

TEST(Crew, KnowsAllThatWasFoundForAResultWhenItHasIt) {
  Gossip gossip(4);
  Job job{.ranks = 4};
  job.prepare = [&](std::size_t rank) {
    return gossip.post(rank, [&, rank](const Task& task) {
      gossip.find(rank, static_cast<char>(task.candidate[0]));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      return result_of(task);
    });
  };
  job.with([&](Crew& crew) {
    crew.work(tasks_of(100), {}, [](std::size_t, const TaskResult&) {});
    std::size_t others = 0;
    for (std::size_t r = 1; r < 4; ++r) others += crew.efforts()[r].tasks;
    EXPECT_EQ(gossip.learnt[0].size(), others);
    EXPECT_EQ(crew.efforts()[0].tasks + others, 100u);
  });
}

TEST(Crew, HearsAtTheEndWhatWasFoundTooLate) {
  Gossip gossip(2);
  std::atomic<bool> is_asked = false, is_open = false;
  std::atomic<int> begun = 0;
  Job job{.ranks = 2};
  job.prepare = [&](std::size_t rank) {
    return gossip.post(rank, [&, rank](const Task& task) {
      if (++begun == 2) is_asked = true;
      while (!is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      gossip.find(rank, 'z');
      return result_of(task);
    });
  };
  job.with([&](Crew& crew) {
    crew.work(tasks_of(2), Deadline(std::nullopt, &is_asked), {});
    is_open = true;
    crew.dismiss();
    EXPECT_EQ(gossip.learnt[0], "z");
  });
}

TEST(Crew, WhatIsNotClaimedIsGivenToNobody) {
  for (const std::size_t ranks : {1u, 3u})
    for (const std::size_t step : {1u, 2u, 7u, 100u}) {
      std::vector<std::size_t> asked(50, 0);
      Job{.ranks = ranks}.with([&](Crew& crew) {
        std::size_t told = 0;
        const std::vector<Task> tasks = tasks_of(asked.size());
        const std::vector<TaskResult> results = crew.work(
            tasks, {}, [&](std::size_t, const TaskResult&) { ++told; },
            [&](std::size_t i) {
              ++asked[i];
              return i % step == step - 1;
            });
        for (std::size_t i = 0; i < results.size(); ++i)
          EXPECT_EQ(results[i], i % step == step - 1 ? result_of(tasks[i]) : TaskResult{});
        EXPECT_EQ(told, asked.size() / step);
      });
      EXPECT_EQ(asked, std::vector<std::size_t>(asked.size(), 1));
    }
}

}  // namespace
}  // namespace monet::mpi
