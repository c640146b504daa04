typedef unsigned long u_long;
