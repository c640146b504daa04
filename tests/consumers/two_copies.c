/* A plugin with a copy of concede of its own; the program that loads two of them has a third. */
#include <concede/concede.h>

__attribute__((visibility("default"))) int PLUGIN(cc_parker_t *parker);
int PLUGIN(cc_parker_t *parker)
{
    cc_event_t event = CC_EVENT_INIT;
    cc_event_notify_all(&event);
    cc_parker_unpark(parker);
    return cc_costs()->cpus >= 1;
}
