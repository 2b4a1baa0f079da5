/*
 * Named points at which a debug build can be paused or killed. Owns nothing in a release build:
 * POINT() is empty there. A build with -DCUQUOTA_POINTS reads
 * CUQUOTA_POINT="name[:nth][:kill|stop]" and, at the nth passing of that point (from 1) in this
 * process, kills or stops the process; with CUQUOTA_POINT_LIST=file it appends each name the first
 * time it is passed.
 */
#ifndef CUQUOTA_POINT_H
#define CUQUOTA_POINT_H

#ifdef CUQUOTA_POINTS
void point_reach(const char *name);
#define POINT(name) point_reach(name)
#else
#define POINT(name) ((void)0)
#endif

#endif
