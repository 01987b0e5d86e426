/*
 * Block driver for disks timed by a mechanical model
 *
 * Copyright (C) 2026 The Spindle authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every request is given to the storage model (libspindle_disk) at the
 * virtual nanosecond at which the guest's controller issued it, and completes
 * at the virtual nanosecond the model computes.  The data itself lives in a
 * sparse raw file.  One QEMU process has one lab (one storage topology); each
 * block node is one unit of it, and one timer serves them all, so that units
 * contend for buses in one total order.
 *
 * Nothing here may wait for the host: file I/O is synchronous, because a
 * completion that arrives from another thread arrives at a virtual time that
 * nobody can repeat.
 *
 * Locking: everything runs under the BQL, in the main AioContext.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qmp/qdict.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/option.h"
#include "qemu/timer.h"
#include "block/block_int.h"
#include "sysemu/runstate.h"
#include "spindle_disk.h"

QEMU_BUILD_BUG_ON(SPINDLE_ABI_VERSION != 3);

/* sysexits.h values; the cell runner tells them apart. */
#define SPINDLE_EXIT_TIME_LIMIT 70
#define SPINDLE_EXIT_HOST_IO    74
/* Not one of them: the power cut that was asked for. */
#define SPINDLE_EXIT_POWER_CUT  80

#define SPINDLE_MESSAGE_MAX 512
#define SPINDLE_LABEL_MAX   384

typedef struct SpindleRequest {
    Coroutine *co;
    int32_t status;
    uint64_t ordinal;
    bool done;
} SpindleRequest;

/* What a write that is only in a drive's buffer has overwritten in the file. */
typedef struct SpindleUndo {
    QSIMPLEQ_ENTRY(SpindleUndo) next;
    uint64_t ordinal;
    uint32_t unit;
    int fd;
    const char *filename;
    int64_t offset;
    int64_t bytes;
    uint8_t data[];
} SpindleUndo;

/* The lab of this process: opened by the first node, closed with the last. */
static struct {
    struct SpindleLab *lab;
    unsigned int nodes;
    char *topology;
    QEMUTimer *timer;
    char *trace_name;
    FILE *trace;
    CoQueue idle_waiters;
    QemuCoSleep start_delay;
    VMChangeStateEntry *state_change;
    int64_t not_before_ns;      /* where spindle_finish() left the model */
    QEMUTimer *power_cut;
    QSIMPLEQ_HEAD(, SpindleUndo) undo;  /* oldest first */
    QLIST_HEAD(, BDRVSpindleState) opened;
    QEMUBH *finish_bh;
} spindle;

typedef struct BDRVSpindleState {
    QLIST_ENTRY(BDRVSpindleState) next;
    int fd;
    char *filename;
    uint32_t unit;
    uint64_t length;
    bool control;
    uint64_t time_limit_s;
    QEMUTimer *time_limit;
} BDRVSpindleState;

static QemuOptsList runtime_opts = {
    .name = "spindle",
    .head = QTAILQ_HEAD_INITIALIZER(runtime_opts.head),
    .desc = {
        {
            .name = "filename",
            .type = QEMU_OPT_STRING,
            .help = "raw file that holds the data; may be sparse",
        }, {
            .name = "topology",
            .type = QEMU_OPT_STRING,
            .help = "topology file of the lab, the same for all nodes",
        }, {
            .name = "unit",
            .type = QEMU_OPT_STRING,
            .help = "name of this node's unit in the topology",
        }, {
            .name = "queue",
            .type = QEMU_OPT_STRING,
            .help = "queue algorithm, overrides the topology",
        }, {
            .name = "write-cache",
            .type = QEMU_OPT_BOOL,
            .help = "the drive's write cache, overrides the topology",
        }, {
            .name = "trace",
            .type = QEMU_OPT_STRING,
            .help = "file for the I/O trace of the whole lab",
        }, {
            .name = "control",
            .type = QEMU_OPT_BOOL,
            .help = "writes to sector 0 are commands to the lab",
        }, {
            .name = "time-limit-s",
            .type = QEMU_OPT_NUMBER,
            .help = "exit after this many virtual seconds (0: never)",
        }, {
            .name = "power-cut-ns",
            .type = QEMU_OPT_NUMBER,
            .help = "cut the power of all drives at this virtual time: what "
                    "only their buffers hold is lost from the files (0: never)",
        },
        { /* end of list */ }
    },
};

static int64_t spindle_now(void)
{
    return MAX(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), spindle.not_before_ns);
}

/*
 * A host that cannot store data or trace has spoilt the measurement; an I/O
 * error inside the guest would only hide that.
 */
static void G_NORETURN spindle_host_failure(const char *what, const char *name,
                                            int error)
{
    error_report("spindle: cannot %s '%s': %s; this run is void, "
                 "make room or mend the file and run it again",
                 what, name, strerror(error));
    exit(SPINDLE_EXIT_HOST_IO);
}

static void spindle_write_trace(void)
{
    char buf[4096];
    size_t n;

    while ((n = spindle_trace_read(spindle.lab, buf, sizeof(buf))) > 0) {
        if (spindle.trace && fwrite(buf, 1, n, spindle.trace) != n) {
            spindle_host_failure("write trace", spindle.trace_name, errno);
        }
    }
}

static void spindle_flush_trace(void)
{
    spindle_write_trace();
    if (spindle.trace && fflush(spindle.trace)) {
        spindle_host_failure("write trace", spindle.trace_name, errno);
    }
}

static void spindle_rearm(void)
{
    int64_t next_ns = spindle_next_event_ns(spindle.lab);

    if (next_ns == SPINDLE_NEVER) {
        timer_del(spindle.timer);
    } else {
        timer_mod_ns(spindle.timer, next_ns);
    }
}

static void spindle_run_until(int64_t now_ns)
{
    struct SpindleCompletion done;

    spindle_advance(spindle.lab, now_ns);
    while (spindle_completion(spindle.lab, &done)) {
        SpindleRequest *req = (SpindleRequest *)(uintptr_t)done.cookie;

        req->status = done.status;
        req->ordinal = done.ordinal;
        req->done = true;
        /* May submit at once: the model is between events here. */
        aio_co_wake(req->co);
    }
    if (spindle_lab_idle(spindle.lab)) {
        qemu_co_enter_all(&spindle.idle_waiters, NULL);
    }
    spindle_write_trace();
}

static void spindle_timer_cb(void *opaque)
{
    spindle_run_until(spindle_now());
    spindle_rearm();
}

/*
 * Finish all requests at once.  Whoever drains the disk, or stops the machine
 * (a panic, a signal), waits with the clock standing still.  Commands that end
 * this way took no time in the guest, so the trace says how many there were.
 */
static void spindle_finish(void)
{
    uint64_t outstanding = spindle_lab_outstanding(spindle.lab);
    char msg[SPINDLE_MESSAGE_MAX];
    int64_t next_ns;

    if (outstanding) {
        g_autofree char *words =
            g_strdup_printf("drained %" PRIu64 " commands", outstanding);

        if (spindle_lab_mark(spindle.lab, spindle_now(), words,
                             msg, sizeof(msg)) < 0) {
            error_report("spindle: mark '%s': %s", words, msg);
            abort();
        }
    }
    while ((next_ns = spindle_next_event_ns(spindle.lab)) != SPINDLE_NEVER) {
        spindle.not_before_ns = next_ns;
        spindle_run_until(next_ns);
    }
    timer_del(spindle.timer);
    qemu_co_sleep_wake(&spindle.start_delay);
}

static void spindle_state_change(void *opaque, bool running, RunState state)
{
    if (!running) {
        spindle_finish();
    }
}

static void coroutine_fn spindle_co_drain_begin(BlockDriverState *bs)
{
    spindle_finish();
}

static void spindle_finish_bh(void *opaque)
{
    spindle_finish();
}

/*
 * The guest has given up a command (a task management function of SCSI), and
 * waits for its end.  No drive is modelled that aborts one halfway: end it as
 * a reset would.  Not here, because the device is at work on its own list of
 * commands.  In lockstep mode a bottom half runs before the guest goes on.
 */
static void spindle_cancel(BlockDriverState *bs)
{
    qemu_bh_schedule(spindle.finish_bh);
}

static void spindle_time_limit_cb(void *opaque)
{
    BDRVSpindleState *s = opaque;

    spindle_flush_trace();
    error_report("spindle: the guest has not finished within %" PRIu64
                 " virtual seconds (time-limit-s); see its console for where "
                 "it hangs", s->time_limit_s);
    exit(SPINDLE_EXIT_TIME_LIMIT);
}

/* Keep what a write is about to overwrite until the write is on the medium. */
static void spindle_remember(BDRVSpindleState *s, uint64_t ordinal,
                             int64_t offset, int64_t bytes)
{
    uint64_t oldest = spindle_oldest_volatile(spindle.lab);
    SpindleUndo *undo;
    ssize_t n;

    while ((undo = QSIMPLEQ_FIRST(&spindle.undo)) && undo->ordinal < oldest) {
        QSIMPLEQ_REMOVE_HEAD(&spindle.undo, next);
        g_free(undo);
    }
    undo = g_malloc(sizeof(*undo) + bytes);
    undo->ordinal = ordinal;
    undo->unit = s->unit;
    undo->fd = s->fd;
    undo->filename = s->filename;
    undo->offset = offset;
    undo->bytes = bytes;
    TFR(n = pread(s->fd, undo->data, bytes, offset));
    if (n != bytes) {
        spindle_host_failure("read", s->filename, n < 0 ? errno : EIO);
    }
    QSIMPLEQ_INSERT_TAIL(&spindle.undo, undo, next);
}

static void spindle_restore(const struct SpindleLost *lost)
{
    int64_t offset = lost->lbn * BDRV_SECTOR_SIZE;
    int64_t bytes = lost->sectors * BDRV_SECTOR_SIZE;
    SpindleUndo *undo;
    ssize_t n;

    QSIMPLEQ_FOREACH(undo, &spindle.undo, next) {
        if (undo->ordinal == lost->ordinal) {
            break;
        }
    }
    if (!undo || undo->unit != lost->unit || offset < undo->offset ||
        offset + bytes > undo->offset + undo->bytes) {
        error_report("spindle: power cut: write %" PRIu64 " is lost, but what "
                     "it overwrote is not known; this is a fault in the driver",
                     lost->ordinal);
        abort();
    }
    TFR(n = pwrite(undo->fd, undo->data + (offset - undo->offset), bytes,
                   offset));
    if (n != bytes) {
        spindle_host_failure("write", undo->filename, n < 0 ? errno : ENOSPC);
    }
}

static void spindle_power_cut_cb(void *opaque)
{
    char msg[SPINDLE_MESSAGE_MAX];
    struct SpindleLost lost;
    uint64_t writes = 0, sectors = 0, last = UINT64_MAX;
    int64_t now_ns = spindle_now();

    spindle_run_until(now_ns);
    if (spindle_power_cut(spindle.lab, now_ns, msg, sizeof(msg)) < 0) {
        error_report("spindle: power cut: %s", msg);
        abort();
    }
    /* Newest first: what an older write overwrote comes back last. */
    while (spindle_lost(spindle.lab, &lost)) {
        spindle_restore(&lost);
        writes += lost.ordinal != last;
        last = lost.ordinal;
        sectors += lost.sectors;
    }
    spindle_flush_trace();
    error_report("spindle: power cut at %" PRId64 " virtual ns as asked "
                 "(power-cut-ns): %" PRIu64 " acknowledged writes lost %" PRIu64
                 " sectors; the data files are as on the media", now_ns,
                 writes, sectors);
    exit(SPINDLE_EXIT_POWER_CUT);
}

/* Wait, in virtual time, until the model acknowledges the request. */
static int coroutine_fn spindle_co_request(BlockDriverState *bs, uint32_t op,
                                           int64_t offset, int64_t bytes)
{
    BDRVSpindleState *s = bs->opaque;
    char msg[SPINDLE_MESSAGE_MAX];
    SpindleRequest req = { .co = qemu_coroutine_self() };

    /*
     * Device models probe the disk before the machine starts.  The clock
     * stands still then, and nothing of it belongs to the measurement.
     */
    if (!runstate_is_running()) {
        return 0;
    }

    if (spindle_submit(spindle.lab, spindle_now(), s->unit, op,
                       offset / BDRV_SECTOR_SIZE, bytes / BDRV_SECTOR_SIZE,
                       (uintptr_t)&req, msg, sizeof(msg)) < 0) {
        error_report("spindle: %s", msg);
        return -EIO;
    }
    if (bs->quiesce_counter) {
        /*
         * Who has drained the node waits for this one, too, and timers do not
         * run: bdrv_close() flushes.
         */
        qemu_bh_schedule(spindle.finish_bh);
    } else {
        spindle_rearm();
    }
    while (!req.done) {
        qemu_coroutine_yield();
    }
    if (spindle.power_cut && op == SPINDLE_WRITE && !req.status) {
        spindle_remember(s, req.ordinal, offset, bytes);
    }
    return req.status ? -EIO : 0;
}

static int coroutine_fn spindle_co_command(char *command)
{
    char msg[SPINDLE_MESSAGE_MAX];
    char label[SPINDLE_LABEL_MAX + 1];
    uint64_t seed;
    int64_t delay_ns;
    int used = 0;

    if (!strcmp(command, "end")) {
        while (!spindle_lab_idle(spindle.lab)) {
            qemu_co_queue_wait(&spindle.idle_waiters, NULL);
        }
        spindle_flush_trace();
        return 0;
    }

    if (sscanf(command, "cell %" stringify(SPINDLE_LABEL_MAX) "s seed %" SCNu64
               "%n", label, &seed, &used) != 2 || command[used]) {
        error_report("spindle: unknown control command '%s'; "
                     "known: 'cell LABEL seed N', 'end'", command);
        return -EINVAL;
    }
    if (spindle_lab_reset(spindle.lab, spindle_now(), label, seed,
                          &delay_ns, msg, sizeof(msg)) < 0) {
        error_report("spindle: control command '%s': %s", command, msg);
        return -EIO;
    }
    qemu_co_sleep_ns_wakeable(&spindle.start_delay, QEMU_CLOCK_VIRTUAL,
                              delay_ns);
    return 0;
}

static int coroutine_fn spindle_co_preadv(BlockDriverState *bs, int64_t offset,
                                          int64_t bytes, QEMUIOVector *qiov,
                                          BdrvRequestFlags flags)
{
    BDRVSpindleState *s = bs->opaque;
    ssize_t n;
    int ret;

    ret = spindle_co_request(bs, SPINDLE_READ, offset, bytes);
    if (ret < 0) {
        return ret;
    }
    TFR(n = preadv(s->fd, qiov->iov, qiov->niov, offset));
    if (n != bytes) {
        spindle_host_failure("read", s->filename, n < 0 ? errno : EIO);
    }
    return 0;
}

static int coroutine_fn spindle_co_pwritev(BlockDriverState *bs, int64_t offset,
                                           int64_t bytes, QEMUIOVector *qiov,
                                           BdrvRequestFlags flags)
{
    BDRVSpindleState *s = bs->opaque;
    ssize_t n;
    int ret;

    if (s->control && offset == 0) {
        char command[BDRV_SECTOR_SIZE + 1] = "";

        qemu_iovec_to_buf(qiov, 0, command, MIN(bytes, BDRV_SECTOR_SIZE));
        return spindle_co_command(command);
    }

    ret = spindle_co_request(bs, flags & BDRV_REQ_FUA ? SPINDLE_WRITE_FUA
                                                      : SPINDLE_WRITE,
                             offset, bytes);
    if (ret < 0) {
        return ret;
    }
    TFR(n = pwritev(s->fd, qiov->iov, qiov->niov, offset));
    if (n != bytes) {
        /* A short write to a regular file means that the disk is full. */
        spindle_host_failure("write", s->filename, n < 0 ? errno : ENOSPC);
    }
    return 0;
}

static int coroutine_fn spindle_co_flush(BlockDriverState *bs)
{
    return spindle_co_request(bs, SPINDLE_FLUSH, 0, 0);
}

static int64_t spindle_getlength(BlockDriverState *bs)
{
    BDRVSpindleState *s = bs->opaque;

    return s->length;
}

static void spindle_refresh_limits(BlockDriverState *bs, Error **errp)
{
    bs->bl.request_alignment = BDRV_SECTOR_SIZE;
    bs->bl.max_iov = IOV_MAX;
}

static bool spindle_lab_get(const char *topology, Error **errp)
{
    char msg[SPINDLE_MESSAGE_MAX];

    if (spindle.nodes) {
        if (strcmp(spindle.topology, topology)) {
            error_setg(errp, "topology '%s' differs from '%s', which an "
                       "earlier node opened; one process has one topology",
                       topology, spindle.topology);
            return false;
        }
        spindle.nodes++;
        return true;
    }

    if (spindle_abi_version() != SPINDLE_ABI_VERSION) {
        error_setg(errp, "libspindle_disk has ABI version %" PRIu32
                   ", this QEMU needs %d; build both again",
                   spindle_abi_version(), SPINDLE_ABI_VERSION);
        return false;
    }
    if (spindle_lab_open(topology, &spindle.lab, msg, sizeof(msg)) < 0) {
        error_setg(errp, "topology '%s': %s", topology, msg);
        return false;
    }
    spindle.topology = g_strdup(topology);
    spindle.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, spindle_timer_cb, NULL);
    spindle.finish_bh = qemu_bh_new(spindle_finish_bh, NULL);
    qemu_co_queue_init(&spindle.idle_waiters);
    QSIMPLEQ_INIT(&spindle.undo);
    spindle.state_change =
        qemu_add_vm_change_state_handler(spindle_state_change, NULL);
    spindle.nodes = 1;
    return true;
}

static void spindle_lab_put(void)
{
    SpindleUndo *undo;

    if (--spindle.nodes) {
        return;
    }
    while ((undo = QSIMPLEQ_FIRST(&spindle.undo))) {
        QSIMPLEQ_REMOVE_HEAD(&spindle.undo, next);
        g_free(undo);
    }
    if (spindle.power_cut) {
        timer_free(spindle.power_cut);
    }
    spindle_flush_trace();
    qemu_del_vm_change_state_handler(spindle.state_change);
    timer_free(spindle.timer);
    qemu_bh_delete(spindle.finish_bh);
    if (spindle.trace && fclose(spindle.trace)) {
        spindle_host_failure("write trace", spindle.trace_name, errno);
    }
    spindle_lab_close(spindle.lab);
    g_free(spindle.topology);
    g_free(spindle.trace_name);
    memset(&spindle, 0, sizeof(spindle));
}

/* Nothing of the lab changes here: the rest of the open may still fail. */
static bool spindle_open_trace(const char *name, FILE **trace, Error **errp)
{
    if (spindle.trace) {
        error_setg(errp, "trace '%s': the lab is already traced to '%s'; "
                   "name a trace on one node", name, spindle.trace_name);
        return false;
    }
    *trace = fopen(name, "w");
    if (!*trace) {
        error_setg_file_open(errp, errno, name);
        return false;
    }
    return true;
}

static bool spindle_set(BDRVSpindleState *s, const char *key,
                        const char *value, Error **errp)
{
    char msg[SPINDLE_MESSAGE_MAX];

    if (spindle_unit_set(spindle.lab, s->unit, key, value,
                         msg, sizeof(msg)) < 0) {
        error_setg(errp, "%s=%s: %s", key, value, msg);
        return false;
    }
    return true;
}

/* Open the data file; a modelled unit decides its length, a null unit not. */
static bool spindle_open_data(BDRVSpindleState *s, bool read_only, Error **errp)
{
    uint64_t want = spindle_unit_sectors(spindle.lab, s->unit) *
                    BDRV_SECTOR_SIZE;
    struct stat st;

    s->fd = qemu_open(s->filename, read_only ? O_RDONLY : O_RDWR, errp);
    if (s->fd < 0) {
        return false;
    }
    if (fstat(s->fd, &st) < 0) {
        error_setg_errno(errp, errno, "cannot stat '%s'", s->filename);
        return false;
    }
    s->length = want ? want : QEMU_ALIGN_DOWN(st.st_size, BDRV_SECTOR_SIZE);
    if (s->length != st.st_size) {
        error_setg(errp, "'%s' has %" PRId64 " bytes, its unit %" PRIu64
                   "; make it with 'truncate -s %" PRIu64 "'", s->filename,
                   (int64_t)st.st_size, s->length, s->length);
        return false;
    }
    return true;
}

/* Numbers that arm a timer, checked before anything is armed. */
static bool spindle_check_times(uint64_t time_limit_s, uint64_t power_cut_ns,
                                Error **errp)
{
    if (time_limit_s > INT64_MAX / NANOSECONDS_PER_SECOND) {
        error_setg(errp, "time-limit-s=%" PRIu64 " is too large", time_limit_s);
        return false;
    }
    if (power_cut_ns > INT64_MAX || (power_cut_ns && spindle.power_cut)) {
        error_setg(errp, "power-cut-ns=%" PRIu64 " %s", power_cut_ns,
                   spindle.power_cut ? "is the second; one node sets it for "
                                       "the whole lab"
                                     : "is too large");
        return false;
    }
    return true;
}

static void spindle_arm(BDRVSpindleState *s, uint64_t power_cut_ns)
{
    if (s->time_limit_s) {
        s->time_limit = timer_new_ns(QEMU_CLOCK_VIRTUAL,
                                     spindle_time_limit_cb, s);
        timer_mod_ns(s->time_limit, s->time_limit_s * NANOSECONDS_PER_SECOND);
    }
    if (power_cut_ns) {
        spindle.power_cut = timer_new_ns(QEMU_CLOCK_VIRTUAL,
                                         spindle_power_cut_cb, NULL);
        timer_mod_ns(spindle.power_cut, power_cut_ns);
    }
}

/* A second node of a unit would be a second file with the same drive. */
static bool spindle_unit_is_free(uint32_t unit, const char *name, Error **errp)
{
    BDRVSpindleState *other;

    QLIST_FOREACH(other, &spindle.opened, next) {
        if (other->unit == unit) {
            error_setg(errp, "unit '%s' is in use by another node, with the "
                       "file '%s'; give each node a unit of its own", name,
                       other->filename);
            return false;
        }
    }
    return true;
}

static int spindle_file_open(BlockDriverState *bs, QDict *options, int flags,
                             Error **errp)
{
    BDRVSpindleState *s = bs->opaque;
    QemuOpts *opts = qemu_opts_create(&runtime_opts, NULL, 0, &error_abort);
    const char *topology, *unit, *queue, *trace_name;
    char msg[SPINDLE_MESSAGE_MAX];
    uint64_t power_cut_ns;
    FILE *trace = NULL;
    int32_t number;
    int ret = -EINVAL;

    s->fd = -1;
    if (!qemu_opts_absorb_qdict(opts, options, errp)) {
        goto out;
    }
    topology = qemu_opt_get(opts, "topology");
    unit = qemu_opt_get(opts, "unit");
    s->filename = g_strdup(qemu_opt_get(opts, "filename"));
    if (!topology || !unit || !s->filename) {
        error_setg(errp, "spindle needs the options 'filename', 'topology' "
                   "and 'unit'");
        goto out;
    }
    if (!spindle_lab_get(topology, errp)) {
        goto out;
    }

    /* First all that only looks, so that a failure leaves nothing behind. */
    number = spindle_unit_find(spindle.lab, unit, msg, sizeof(msg));
    if (number < 0) {
        error_setg(errp, "unit '%s': %s", unit, msg);
        goto put;
    }
    s->unit = number;
    s->control = qemu_opt_get_bool(opts, "control", false);
    s->time_limit_s = qemu_opt_get_number(opts, "time-limit-s", 0);
    power_cut_ns = qemu_opt_get_number(opts, "power-cut-ns", 0);
    if (!spindle_check_times(s->time_limit_s, power_cut_ns, errp) ||
        !spindle_unit_is_free(s->unit, unit, errp) ||
        !spindle_open_data(s, !(flags & BDRV_O_RDWR), errp)) {
        goto put;
    }
    trace_name = qemu_opt_get(opts, "trace");
    if (trace_name && !spindle_open_trace(trace_name, &trace, errp)) {
        goto put;
    }

    /* Then the model's settings, which the next open of the unit overrides. */
    queue = qemu_opt_get(opts, "queue");
    if (queue && !spindle_set(s, "queue", queue, errp)) {
        goto put;
    }
    if (qemu_opt_get(opts, "write-cache") &&
        !spindle_set(s, "write-cache",
                     qemu_opt_get_bool(opts, "write-cache", true) ? "on"
                                                                  : "off",
                     errp)) {
        goto put;
    }

    /* Nothing fails from here on. */
    if (trace) {
        spindle.trace = trace;
        spindle.trace_name = g_strdup(trace_name);
        trace = NULL;
    }
    spindle_arm(s, power_cut_ns);
    QLIST_INSERT_HEAD(&spindle.opened, s, next);
    bs->supported_write_flags = BDRV_REQ_FUA;
    ret = 0;
    goto out;

put:
    if (trace) {
        fclose(trace);
    }
    spindle_lab_put();
out:
    if (ret < 0) {
        if (s->fd >= 0) {
            qemu_close(s->fd);
        }
        g_free(s->filename);
    }
    qemu_opts_del(opts);
    return ret;
}

/*
 * Forget what the unit's writes have overwritten: file and name are gone with
 * the node.  Its drive has been drained, so a power cut takes nothing of it.
 */
static void spindle_forget(uint32_t unit)
{
    SpindleUndo *undo, *next;

    QSIMPLEQ_FOREACH_SAFE(undo, &spindle.undo, next, next) {
        if (undo->unit == unit) {
            QSIMPLEQ_REMOVE(&spindle.undo, undo, SpindleUndo, next);
            g_free(undo);
        }
    }
}

static void spindle_close(BlockDriverState *bs)
{
    BDRVSpindleState *s = bs->opaque;

    if (s->time_limit) {
        timer_free(s->time_limit);
    }
    QLIST_REMOVE(s, next);
    spindle_forget(s->unit);
    qemu_close(s->fd);
    g_free(s->filename);
    spindle_lab_put();
}

/* The options other than the data decide timing, so they are all "strong". */
static const char *const spindle_strong_runtime_opts[] = {
    "filename", "topology", "unit", "queue", "write-cache", "control",

    NULL
};

static BlockDriver bdrv_spindle = {
    .format_name            = "spindle",
    .protocol_name          = "spindle",
    .instance_size          = sizeof(BDRVSpindleState),

    .bdrv_file_open         = spindle_file_open,
    .bdrv_close             = spindle_close,
    .bdrv_getlength         = spindle_getlength,
    .bdrv_refresh_limits    = spindle_refresh_limits,

    .bdrv_co_preadv         = spindle_co_preadv,
    .bdrv_co_pwritev        = spindle_co_pwritev,
    .bdrv_co_flush_to_disk  = spindle_co_flush,
    .bdrv_co_drain_begin    = spindle_co_drain_begin,
    .bdrv_cancel            = spindle_cancel,

    .strong_runtime_opts    = spindle_strong_runtime_opts,
};

static void bdrv_spindle_init(void)
{
    bdrv_register(&bdrv_spindle);
}

block_init(bdrv_spindle_init);
