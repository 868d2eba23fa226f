// The only file that knows MPI.
#include "monet/mpi/ranks.h"

#include <fmt/format.h>
#include <mpi.h>

#include <list>

#include "monet/base/diagnostic.h"

namespace monet::mpi {
namespace {

constexpr int kTag = 1;

}  // namespace

// An error of MPI ends the job (MPI_ERRORS_ARE_FATAL), which is what a lost rank does anyway.
struct Ranks::State {
  struct Sent {
    std::string bytes;
    MPI_Request request;
  };
  std::list<Sent> sent{};  // their bytes must stay until they have left
  int rank = 0, ranks = 1, on_host = 1;

  void forget_sent() {
    std::erase_if(sent, [](Sent& s) {
      int has_left = 0;
      MPI_Test(&s.request, &has_left, MPI_STATUS_IGNORE);
      return has_left != 0;
    });
  }
};

Ranks::Ranks(const Launch& launch) : state_(std::make_unique<State>()) {
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);  // tasks have threads, which never call MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->ranks);
  if (static_cast<std::size_t>(state_->ranks) < launch.ranks) {  // each would take itself for the only one
    MPI_Finalize();
    throw InputError(Diagnostic{
        .where = "monet",
        .message = fmt::format("the launcher started {} ranks, of which MPI knows {}", launch.ranks, state_->ranks),
        .hint = "use the launcher of the MPI that monet was built with; for srun, --mpi=pmix"});
  }
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &state_->on_host);
  MPI_Comm_free(&here);
}

Ranks::~Ranks() {
  for (State::Sent& s : state_->sent) MPI_Wait(&s.request, MPI_STATUS_IGNORE);
  MPI_Finalize();
}

std::size_t Ranks::on_this_host() const { return static_cast<std::size_t>(state_->on_host); }

Link Ranks::link() {
  Link link{static_cast<std::size_t>(state_->rank), static_cast<std::size_t>(state_->ranks)};
  link.send = [state = state_.get()](std::size_t to, std::string bytes) {
    state->sent.push_back({std::move(bytes), MPI_REQUEST_NULL});
    State::Sent& s = state->sent.back();
    MPI_Isend(s.bytes.data(), static_cast<int>(s.bytes.size()), MPI_BYTE, static_cast<int>(to), kTag, MPI_COMM_WORLD,
              &s.request);
  };
  link.receive = [state = state_.get()]() -> std::optional<Envelope> {
    state->forget_sent();
    int is_there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &is_there, &status);
    if (is_there == 0) return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Envelope out{static_cast<std::size_t>(status.MPI_SOURCE), std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(out.bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return out;
  };
  return link;
}

}  // namespace monet::mpi
