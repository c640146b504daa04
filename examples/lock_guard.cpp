// lock_guard: the lock in C++, with the standard library's guards.
#include <concede/concede.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class word_count
{
  public:
    void add(const std::string &word)
    {
        std::lock_guard<concede::mutex> guard(mutex_);
        counts_[word]++;
    }

    // Gives up after a millisecond: -1.
    long look(const std::string &word)
    {
        std::unique_lock<concede::mutex> guard(mutex_, std::chrono::milliseconds(1));
        return guard.owns_lock() ? counts_[word] : -1;
    }

  private:
    concede::mutex mutex_; // four bytes
    std::map<std::string, long> counts_;
};

int main()
{
    const long threads = 4, rounds = 50000;
    word_count words;
    std::vector<std::thread> pool;
    for (long i = 0; i < threads; i++)
        pool.emplace_back([&words] {
            for (long n = 0; n < rounds; n++) words.add(n % 2 ? "odd" : "even");
        });
    for (auto &thread : pool) thread.join();

    long odd = words.look("odd"), even = words.look("even");
    std::printf("%ld odd, %ld even, expected %ld each\n", odd, even, threads * rounds / 2);
    return odd == even && odd == threads * rounds / 2 ? 0 : 1;
}
