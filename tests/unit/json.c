/* The JSON module of the program and the benchmarks: what it writes reads back, what is no JSON is refused. */
#include "harness.h"

#include "../../common/json.c"

static char *written(const json_t *tree, bool compact)
{
    static char text[1 << 16];
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    json_writer_t w = { .out = file, .compact = compact };
    json_write(&w, NULL, tree);
    rewind(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    fclose(file);
    return text;
}

static bool same(const json_t *a, const json_t *b)
{
    if (!a || !b) return a == b;
    if (a->type != b->type || a->count != b->count || a->boolean != b->boolean) return false;
    if (a->type == JSON_NUMBER && !(a->number >= b->number && a->number <= b->number)) return false;
    if (a->type == JSON_STRING && strcmp(a->string, b->string) != 0) return false;
    if (!a->key != !b->key || (a->key && strcmp(a->key, b->key) != 0)) return false;
    return same(a->child, b->child) && same(a->next, b->next);
}

TEST(what_is_written_reads_back)
{
    const char *text = "{\"a\": [1, -2.5, 1e300, 0.1, 123456789012345680, 5e-324, {\"b\": null}, [], {}], "
                       "\"c d\": true, \"\": false, \"s\": \"q\\\" b\\\\ n\\n t\\t <\\u00b5\\ud83d\\ude00>\"}";
    char error[128] = "";
    json_t *first = json_parse(text, error, sizeof error);
    REQUIRE(first != NULL);
    for (int compact = 0; compact < 2; compact++) {
        json_t *again = json_parse(written(first, compact), error, sizeof error);
        CHECK(same(first, again));
        json_free(again);
    }
    CHECK(strcmp(json_get_string(first, "s", ""), "q\" b\\ n\n t\t <\xc2\xb5\xf0\x9f\x98\x80>") == 0);
    CHECK(strchr(written(first, true), '<') == NULL); /* so that no string can end a script in a page */
    json_free(first);
}

TEST(bytes_that_are_no_text_are_replaced)
{
    char bytes[] = "\xff \xc3\xa4\xc3 \xed\xa0\x80 \xc0\x80 \xe0\x80\x80 \xf4\x90\x80\x80 \xe2\x82";
    json_t text = { .type = JSON_STRING, .string = bytes };
    const char *want = "\"\\ufffd \xc3\xa4\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd "
                       "\\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"";
    CHECK(strcmp(written(&text, true), want) == 0);
}

TEST(every_number_reads_back_the_same)
{
    uint64_t random = test_seed(1);
    char error[128];
    for (uint64_t i = 0; i < test_effort(20000); i++) {
        uint64_t bits = test_random(&random);
        json_t number = { .type = JSON_NUMBER };
        memcpy(&number.number, &bits, sizeof bits);
        json_t *read = json_parse(written(&number, true), error, sizeof error);
        REQUIRE(read != NULL);
        if (isfinite(number.number))
            CHECK(same(&number, read));
        else
            CHECK_EQ(read->type, JSON_NULL);
        json_free(read);
    }
}

TEST(what_is_no_json_is_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:2}",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\ud800\\u0041\"",
        "\"\\u0000\"",
        "\"a\nb\"",
        "nul",
        "tru",
        "truex",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "0x10",
        "1 1",
        "[]]",
        "inf",
        "nan",
        "-inf",
        "--1",
        "'a'",
        "{\"a\":1 \"b\":2}",
    };
    char error[128], deep[256];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        error[0] = 0;
        json_t *tree = json_parse(bad[i], error, sizeof error);
        if (!CHECK(tree == NULL)) printf("    accepted: %s\n", bad[i]);
        CHECK(strncmp(error, "no JSON, line 1: ", 17) == 0);
        json_free(tree);
    }
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    CHECK(json_parse(deep, error, sizeof error) == NULL);
    CHECK(json_parse("[1,\n2,\n,3]", error, sizeof error) == NULL);
    CHECK(strncmp(error, "no JSON, line 3: ", 17) == 0);
}

/* Whatever is done to a text, reading it ends, and within it: the sanitizers watch. */
TEST(damaged_text_is_read_safely)
{
    static const char whole[] = "{\"a\": [1, 2.5, \"x\\u00b5\\n\"], \"b\": {\"c\": null, \"d\": [true, false]}}";
    uint64_t random = test_seed(2);
    char error[128];
    for (uint64_t i = 0; i < test_effort(20000); i++) {
        size_t size = sizeof whole - 1;
        char *text = malloc(size + 1);
        REQUIRE(text != NULL);
        memcpy(text, whole, size + 1);
        for (uint64_t changes = test_random(&random) % 4; changes > 0; changes--)
            text[test_random(&random) % size] = "{}[]\",:\\u0e-tn. \x01"[test_random(&random) % 17];
        if (test_random(&random) % 2) text[test_random(&random) % size] = 0;
        json_free(json_parse(text, error, sizeof error));
        free(text);
    }
}

TEST(path_leads_to_what_is_there_and_to_nothing_else)
{
    char error[128];
    json_t *tree = json_parse("{\"a\": {\"b\": {\"c\": 7}, \"bc\": 8}, \"n\": null, \"t\": true}", error, sizeof error);
    REQUIRE(tree != NULL);
    CHECK_EQ(json_get_number(tree, "a.b.c", 0), 7);
    CHECK_EQ(json_get_number(tree, "a.bc", 0), 8);
    CHECK_EQ(json_get_number(tree, "a.b", 5), 5);
    CHECK(json_get(tree, "a.b.d") == NULL);
    CHECK(json_get(tree, "a.b.c.d") == NULL);
    CHECK(json_get(tree, "b") == NULL);
    CHECK(json_get(tree, "") == tree);
    CHECK(json_get(NULL, "a") == NULL);
    CHECK(json_get_bool(tree, "t", false));
    CHECK(json_get_string(tree, "a", NULL) == NULL);
    json_free(tree);
}
