/* version.h: which concede this is. The build reads the version from here and from nowhere else. */
#ifndef CONCEDE_VERSION_H
#define CONCEDE_VERSION_H

#define CC_VERSION_MAJOR 0
#define CC_VERSION_MINOR 1
#define CC_VERSION_PATCH 0

#define CC_VERSION_STRING "0.1.0"

#endif
