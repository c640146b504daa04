// channel: messages in C++ that own something, and the first of two channels.
#include <concede/concede.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct job {
    std::string name;
    std::vector<int> numbers;
};

int main()
{
    // A job is moved through the channel; a number is copied as bytes.
    concede::channel<std::unique_ptr<job>> jobs(16);
    concede::channel<int> results(16, CC_CHANNEL_SPSC);
    concede::channel<std::string> log(16);
    if (!jobs || !results || !log) return 1;

    std::thread worker([&] {
        for (std::unique_ptr<job> next; jobs.recv(next) == 0;) {
            int sum = 0;
            for (int number : next->numbers) sum += number;
            if (results.send(sum) != 0 || log.send("done: " + next->name) != 0) return;
        }
        results.close();
        log.close();
    });

    for (int i = 1; i <= 3; i++)
        jobs.emplace(new job{ "job " + std::to_string(i), std::vector<int>(static_cast<size_t>(i), i) });
    jobs.close(); // the worker takes what is there, and ends

    // Results before lines of the log; until both are closed.
    int sum = 0, result = 0, lines = 0;
    std::string line;
    bool results_open = true, log_open = true;
    while (results_open || log_open) {
        concede::selected done =
            concede::select(concede::order::in_order, concede::on_recv(results, result, results_open),
                            concede::on_recv(log, line, log_open));
        if (!done)
            (done.which == 0 ? results_open : log_open) = false;
        else if (done.which == 0)
            sum += result;
        else
            lines += std::printf("%s\n", line.c_str()) > 0;
    }
    worker.join();
    std::printf("the sum of all results is %d\n", sum);
    return sum == 1 + 4 + 9 && lines == 3 ? 0 : 1;
}
