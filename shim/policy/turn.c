/*
 * See turn.h.
 */
#include "policy/turn.h"

#include <errno.h>

void turn_start(struct turn *turn)
{
	pthread_mutexattr_t attribute;

	if (turn->started)
		return;
	pthread_mutexattr_init(&attribute);
	pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutexattr_setrobust(&attribute, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&turn->mutex, &attribute);
	pthread_mutexattr_destroy(&attribute);
	turn->started = true;
}

int turn_take(struct turn *turn)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (pthread_mutex_lock(&turn->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&turn->mutex);
	return cancel;
}

void turn_give(struct turn *turn, int cancel)
{
	pthread_mutex_unlock(&turn->mutex);
	pthread_setcancelstate(cancel, NULL);
}
