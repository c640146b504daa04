/* bench_show.h: the results of a benchmark as text. */
#ifndef CONCEDE_TOOL_BENCH_SHOW_H
#define CONCEDE_TOOL_BENCH_SHOW_H

#include "results.h"

/* "lock.tight, 32 threads". */
void show_run_name(const bench_run *run, char *text, size_t size);

/* For a terminal; one line for each metric; Markdown: everything, short tables, where and when. */
void show_table(const bench_report *report);
void show_csv(const bench_report *report);
void show_document(const bench_report *report);
void show_tables(const bench_report *report);
void show_machine(const bench_report *report);

/* What moved by more than the spread of both; false: there was nothing in common. *worse is how many figures got
 * worse. */
bool show_changes(const bench_report *before, const bench_report *after, uint32_t *worse);

#endif
