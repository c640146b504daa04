typedef struct FILE FILE;
extern FILE *stderr;
int fprintf(FILE *restrict, const char *restrict, ...);
