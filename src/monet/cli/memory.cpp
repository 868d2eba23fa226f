// jemalloc reads this where it is linked: what one evaluation has left is kept for the next one, and not given back to
// the system and asked for again. An exploration spent a tenth of its time on that.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
}
