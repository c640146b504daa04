/* symbols.c: see symbols.h. */
#include "symbols.h"

#include "tool.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct image {
    const unsigned char *bytes;
    size_t size;
} image_t;

static image_t map_file(const char *path)
{
    image_t image = { NULL, 0 };
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return image;
    if (fstat(file, &status) == 0 && status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (at != MAP_FAILED) image.bytes = at, image.size = (size_t)status.st_size;
    }
    close(file);
    return image;
}

/* A part of the file, or NULL: it is not all there, as in a file that is damaged. */
static const void *part(const image_t *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

static const Elf64_Ehdr *header_of(const image_t *image)
{
    const Elf64_Ehdr *header = part(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
        return NULL;
    return header;
}

/* Where the linker put what lies at this offset of the file; 0: nothing of it is loaded. */
static uint64_t address_of(const image_t *image, uint64_t offset)
{
    const Elf64_Ehdr *header = header_of(image);
    const Elf64_Phdr *segments = header ? part(image, header->e_phoff, sizeof *segments * header->e_phnum) : NULL;
    for (int i = 0; segments && i < header->e_phnum; i++) {
        const Elf64_Phdr *s = &segments[i];
        if (s->p_type == PT_LOAD && offset >= s->p_offset && offset - s->p_offset < s->p_filesz)
            return s->p_vaddr + (offset - s->p_offset);
    }
    return 0;
}

/* The function that this address is in, by the symbol tables. */
static void find_function(const image_t *image, uint64_t address, char *name, size_t size)
{
    const Elf64_Ehdr *header = header_of(image);
    const Elf64_Shdr *sections = header ? part(image, header->e_shoff, sizeof *sections * header->e_shnum) : NULL;
    for (int i = 0; sections && i < header->e_shnum && !name[0]; i++) {
        const Elf64_Shdr *s = &sections[i];
        if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || s->sh_link >= header->e_shnum) continue;
        const Elf64_Sym *symbols = part(image, s->sh_offset, s->sh_size);
        const Elf64_Shdr *strings = &sections[s->sh_link];
        const char *names = part(image, strings->sh_offset, strings->sh_size);
        for (uint64_t k = 0; symbols && names && k < s->sh_size / sizeof *symbols; k++) {
            const Elf64_Sym *f = &symbols[k];
            if (ELF64_ST_TYPE(f->st_info) != STT_FUNC || f->st_name >= strings->sh_size) continue;
            if (address < f->st_value || address - f->st_value >= f->st_size) continue;
            snprintf(name, size, "%.*s", (int)(strings->sh_size - f->st_name), names + f->st_name);
            break;
        }
    }
}

/* addr2line with these arguments; what it prints. NULL: it cannot be started. */
static FILE *addr2line(char **arguments, pid_t *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    *child = fork();
    if (*child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    if (*child > 0) return fdopen(ends[0], "r");
    close(ends[0]);
    return NULL;
}

static void cut_line_end(char *text)
{
    text[strcspn(text, "\n")] = 0;
}

/* Two lines for each address, the function and "path/file.c:12", with "??" for what is not known. */
static void read_lines(FILE *in, symbol_t *symbols, size_t count)
{
    char function[512], line[4096];
    for (size_t i = 0; i < count && fgets(function, sizeof function, in) && fgets(line, sizeof line, in); i++) {
        const char *file = strrchr(line, '/');
        file = file ? file + 1 : line;
        cut_line_end(function);
        cut_line_end(line);
        line[strcspn(line, " ")] = 0; /* "(discriminator 2)" */
        bool known = file[0] != '?' && !strstr(file, ":?") && !strstr(file, ":0");
        if (known) snprintf(symbols[i].line, sizeof symbols[i].line, "%.159s", file);
        /* Without debug information it names the nearest symbol, which may be another function's. */
        if (function[0] != '?' && (known || symbols[i].function[0]))
            snprintf(symbols[i].function, sizeof symbols[i].function, "%.127s", function);
    }
}

/* Those of one module. The address asked for is one before the return address: that is in the call. */
static void find_in_module(symbol_t *symbols, size_t count)
{
    image_t image = symbols->module ? map_file(symbols->module) : (image_t){ NULL, 0 };
    if (!image.bytes) return;
    char **arguments = tool_need(calloc(count + 6, sizeof *arguments));
    char *texts = tool_need(malloc(count * 24));
    static char name[] = "addr2line", flags[] = "-fC", of[] = "-e";
    arguments[0] = name, arguments[1] = flags, arguments[2] = of, arguments[3] = (char *)(uintptr_t)symbols->module;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = address_of(&image, symbols[i].offset - 1);
        find_function(&image, address, symbols[i].function, sizeof symbols[i].function);
        snprintf(texts + i * 24, 24, "0x%llx", (unsigned long long)address);
        arguments[4 + i] = texts + i * 24;
    }
    pid_t child;
    FILE *in = addr2line(arguments, &child);
    if (in) {
        read_lines(in, symbols, count);
        fclose(in);
        waitpid(child, NULL, 0);
    }
    munmap((void *)(uintptr_t)image.bytes, image.size);
    free(texts);
    free(arguments);
}

static int by_module(const void *a, const void *b)
{
    const char *x = ((const symbol_t *)a)->module, *y = ((const symbol_t *)b)->module;
    return strcmp(x ? x : "", y ? y : "");
}

void symbols_find(symbol_t *symbols, size_t count)
{
    qsort(symbols, count, sizeof *symbols, by_module);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && end - i < 1000 && by_module(&symbols[i], &symbols[end]) == 0;) end++;
        find_in_module(symbols + i, end - i);
    }
}
