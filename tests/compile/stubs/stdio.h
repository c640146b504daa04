typedef struct FILE FILE;
extern FILE *stderr;
int fprintf(FILE *restrict, const char *restrict, ...);
int snprintf(char *restrict, __SIZE_TYPE__, const char *restrict, ...);
