#include <concede/concede.h>

int first_plugin(cc_parker_t *parker);
int second_plugin(cc_parker_t *parker);

int main(void)
{
    cc_parker_t parker = CC_PARKER_INIT;
    if (!first_plugin(&parker)) return 1;
    cc_parker_park(&parker);
    if (!second_plugin(&parker)) return 2;
    cc_parker_park(&parker);
    return cc_parker_park_timeout(&parker, 1000) ? 3 : 0;
}
