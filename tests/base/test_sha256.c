/* SHA-256: known answers, and pieces that make the same as the whole. */
#include "base/sha256_blocks.h"
#include "tests/suite.h"

#include <string.h>

/* FIPS 180-4's examples. */
START_TEST(known_answers_come_out)
{
    static const char *const cases[][2] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                                           {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                                           {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                                            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(sha256(cases[i][0], strlen(cases[i][0])).text, cases[i][1]);
}

START_TEST(pieces_make_the_same_as_the_whole)
{
    char bytes[400];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i);
    for (size_t size = 0; size <= sizeof bytes; size += 13)
        for (size_t piece = 1; piece < 140; piece++) {
            Sha256Sum s;
            sha256_begin(&s);
            for (size_t at = 0; at < size; at += piece)
                sha256_add(&s, bytes + at, size - at < piece ? size - at : piece);
            ck_assert_str_eq(sha256_end(&s).text, sha256(bytes, size).text);
        }
}

/* A processor's own instructions, where it has them (and valgrind knows them). */
START_TEST(instructions_give_what_plain_c_gives)
{
    unsigned char bytes[64 * 9 + 1];
    uint32_t plain[8] = {1, 0xffffffff, 0x80000000}, by_instructions[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 31 + i / 7);
    for (size_t count = 0; count < 10; count++) {
        memcpy(by_instructions, plain, sizeof plain);
        if (!sha256_x86(by_instructions, bytes + count % 2, count))
            return;
        sha256_plain(plain, bytes + count % 2, count);
        ck_assert_mem_eq(plain, by_instructions, sizeof plain);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(known_answers_come_out), TEST(pieces_make_the_same_as_the_whole),
                                 TEST(instructions_give_what_plain_c_gives)};
    return suite_run("base/sha256", tests, sizeof tests / sizeof *tests, argc, argv);
}
