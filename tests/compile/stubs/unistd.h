#define _SC_NPROCESSORS_ONLN 58
long sysconf(int);
int issetugid(void);
