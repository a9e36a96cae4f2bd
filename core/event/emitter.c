/* The queue in which pool threads leave events for the loop (emitter.h). */

#include "emitter.h"
#include "base/mem.h"
#include <pthread.h>

struct queued_event {
    struct arena arena; /* of the event */
    struct event *event;
    struct queued_event *next;
};

struct event_queue {
    pthread_mutex_t mutex;
    struct queued_event *first, **end;
};

struct event_queue *event_queue_new(void)
{
    struct event_queue *queue = xcalloc(1, sizeof(*queue));
    pthread_mutex_init(&queue->mutex, NULL);
    queue->end = &queue->first;
    return queue;
}

void event_queue_free(struct event_queue *queue)
{
    if (!queue)
        return;
    event_queue_emit(queue, NULL);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void event_queue_push(struct event_queue *queue, const struct event *event)
{
    struct queued_event *queued = xcalloc(1, sizeof(*queued));
    queued->event = event_copy(&queued->arena, event);
    pthread_mutex_lock(&queue->mutex);
    *queue->end = queued;
    queue->end = &queued->next;
    pthread_mutex_unlock(&queue->mutex);
}

void event_queue_emit(struct event_queue *queue, struct emitter *emitter)
{
    pthread_mutex_lock(&queue->mutex);
    struct queued_event *first = queue->first;
    queue->first = NULL;
    queue->end = &queue->first;
    pthread_mutex_unlock(&queue->mutex);
    while (first) {
        struct queued_event *next = first->next;
        emit(emitter, first->event);
        arena_release(&first->arena);
        free(first);
        first = next;
    }
}
