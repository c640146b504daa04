/* version.h: which concede this is. The build reads the version from here and from nowhere else. */
#ifndef CONCEDE_VERSION_H
#define CONCEDE_VERSION_H

#define CC_VERSION_MAJOR 0
#define CC_VERSION_MINOR 2
#define CC_VERSION_PATCH 0

#define CC_VERSION_STRING "0.2.0"

#endif
