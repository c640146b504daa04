/* main.c: `concede bench` as a program of its own, for tuning without building the rest. */
#include "tool.h"

int main(int argc, char **argv)
{
    return tool_finish(concede_bench.run(argc, argv));
}
