// clip is a hook of psbench in C: it clips gradients, and has the host average them. It is written from
// docs/protocol.md alone; gRPC's C core does HTTP/2, the rest is here: gcc -O2 -o clip clip.c -lgrpc -lgpr
#define _GNU_SOURCE
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HELLO = 1, ACKNOWLEDGE, REFUSE, SEGMENT = 0x60, TENSOR, PING, FAILED, REDUCE = 0x68, AVERAGE = 0x6b };
enum { BUCKET = 4, READ_ONLY = 1, LAST = 0x80, MOST = 4096, GOES_ON = -1 };
typedef struct {
    uint32_t magic; uint16_t version; uint8_t op, flags; int64_t batch; int32_t bucket, rows;
    int64_t arg, arg2; uint64_t payload, sequence, link;
} Frame;
_Static_assert(sizeof(Frame) == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a Frame is as on the wire");
typedef struct { char *at, *end; } View;               // bytes of a request: we keep these, they are few
typedef struct { grpc_call *call; grpc_completion_queue *done; char *method; } Call;  // they stay too
typedef struct { uint64_t value; View bytes; } Field;  // of a protobuf message: a number, or so many bytes
static const char DESCRIPTION[] =  // a DescribeReply: tag and length of every field, and the field
    "\x0a\x4f" "\x0a\x04" "hook" "\x12\x04" "clip" "\x1a\x38" "\x0a\x05" "limit" "\x12\x06" "number"
    "\x1a\x01" "1" "\x22\x24" "largest absolute value of a gradient" "\x32\x05" "group" "\x58\x01";
static View name, secret, links;               // of ConfigureRequest; CompanionLinks
static float limit, *buckets[MOST];            // where the values of each bucket are
static char *segments[MOST];
static int listener, host = -1, descriptor;    // the link; what came with a segment
static uint64_t sent, received, link_number;   // frames; 0 until we acknowledge
static _Thread_local Call at_hand;             // every call has a thread of its own: this thread's

static int run(grpc_op *ops, size_t count) {  // 0: the caller is gone
    return !grpc_call_start_batch(at_hand.call, ops, count, ops, NULL) &&
           grpc_completion_queue_pluck(at_hand.done, ops, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).success;
}
static View read_request(void) {
    grpc_byte_buffer *buffer = NULL; grpc_byte_buffer_reader reader;
    grpc_op op = {GRPC_OP_RECV_MESSAGE, .data.recv_message = {&buffer}};
    if (!run(&op, 1) || !buffer || !grpc_byte_buffer_reader_init(&reader, buffer)) return (View){0};
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    return (View){(char *)GRPC_SLICE_START_PTR(all), (char *)GRPC_SLICE_END_PTR(all)};
}
// answer sends a message, unless that is NULL, and a status, which ends the call, unless that goes on.
static int answer(char *message, size_t size, int status, char *sentence) {
    grpc_slice why = grpc_slice_from_copied_string(sentence);
    grpc_slice bytes = grpc_slice_from_copied_buffer(message, size);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&bytes, 1);
    int cancelled, first = message ? 0 : 1, end = status == GOES_ON ? 1 : 3, ok;
    grpc_op ops[] = {{GRPC_OP_SEND_MESSAGE, .data.send_message = {buffer}},
                     {GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server = {&cancelled}},
                     {GRPC_OP_SEND_STATUS_FROM_SERVER, .data.send_status_from_server = {0, 0, status, &why}}};
    if (!(ok = run(ops + first, end - first)) || status != GOES_ON) grpc_call_unref(at_hand.call);
    grpc_byte_buffer_destroy(buffer), grpc_slice_unref(bytes), grpc_slice_unref(why);
    return ok;
}

static void send_frame(Frame f, char *text) {  // that the host is gone, get_frame finds
    f.magic = 0x66627370, f.version = 2, f.payload = strlen(text);
    f.sequence = sent++, f.link = link_number ? ~link_number : 0;
    send(host, &f, sizeof f, MSG_NOSIGNAL), send(host, text, f.payload, MSG_NOSIGNAL);
}

// die fails the call at hand. Without one it tells host and log why the process ends.
#define die(...) do { char why[512]; snprintf(why, sizeof why, __VA_ARGS__), end(why); } while (0)
static void __attribute__((noreturn)) end(char *why) {
    if (host >= 0) send_frame((Frame){.op = link_number ? FAILED : REFUSE}, why);
    if (at_hand.call) answer(NULL, 0, GRPC_STATUS_UNKNOWN, why), pthread_exit(NULL);
    fprintf(stderr, "clip: %s\n", why);
    _exit(1);
}
static int get_frame(Frame *f) {  // 0: the host has hung up
    char control[CMSG_SPACE(sizeof descriptor)] __attribute__((aligned(8)));
    struct msghdr m = {0, 0, &(struct iovec){f, sizeof *f}, 1, control, sizeof control, 0};
    if (recvmsg(host, &m, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof *f) return 0;
    if (CMSG_FIRSTHDR(&m)) memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof descriptor);
    if (f->magic != 0x66627370 || f->version != 2 || f->sequence != received++ || f->link != link_number)
        die("what came is not the next frame of the link");
    return 1;
}

static uint64_t get_number(View *m) {
    uint64_t value = 0, more = 1;
    for (int shift = 0; more && m->at < m->end && shift < 64; more = *m->at++ & 0x80, shift += 7)
        value |= (*m->at & 0x7fULL) << shift;
    return value;
}
static Field find(View m, int number, int nth) {  // zeros where the message has no such field
    while (m.at < m.end) {
        uint64_t tag = get_number(&m), wire = tag & 7, size = wire == 1 ? 8 : wire == 5 ? 4 : get_number(&m);
        Field f = {size, {m.at, m.at}};  // a number stands where others have their size
        if (wire) f.bytes.end = m.at += size < (uint64_t)(m.end - m.at) ? size : (uint64_t)(m.end - m.at);
        if ((int)(tag >> 3) == number && nth-- == 0) return f;
    }
    return (Field){0};
}

static void configure(View request, char *reply) {
    View settings = find(find(request, 3, 0).bytes, 3, 0).bytes, folder = find(request, 6, 0).bytes;
    name = find(request, 1, 0).bytes, secret = find(request, 5, 0).bytes;
    char *text = strndup(settings.at, settings.end - settings.at);  // JSON
    int size = folder.end - folder.at, whole = 0;
    if (sscanf(text, " { \"limit\" : %f } %n", &limit, &whole) != 1 || !whole || text[whole] || !(limit > 0))
        die("settings %s: there is limit alone, and it must be a number above 0", text);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%.*s/clip.%d.link", size, folder.at, getpid());
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (void *)&to, sizeof to) || listen(listener, 1)) die("no socket %s: %m", to.sun_path);
    sprintf(reply, "\x0a%c%s", (int)strlen(to.sun_path), to.sun_path);
}
static void reduce(Frame f) {
    View bucket = find(links, 2, f.bucket).bytes;
    uint64_t count = find(bucket, 3, 0).value ? f.rows * find(bucket, 5, 0).value : find(bucket, 2, 0).value;
    for (float *v = buckets[f.bucket]; count-- > 0; v++)  // a NaN stays, for psbench to find
        *v = *v > limit ? limit : *v < -limit ? -limit : *v;
    f.op = AVERAGE, f.flags = LAST;  // when that has ended the bucket is reduced: no frame says so
    send_frame(f, "");
}

static void *serve_link(View request) {  // of Connect, which is answered once the host is there
    uint8_t hello[1024] = "";  // the secret; purpose, host and part, each after its length
    uint64_t number, size = name.end - name.at; Frame f;
    links = find(request, 5, 0).bytes;
    if ((host = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) die("no host came: %m");
    if (!get_frame(&f) || f.op != HELLO || f.payload > sizeof hello || getentropy(&number, sizeof number) ||
        recv(host, hello, f.payload, MSG_WAITALL) != (ssize_t)f.payload || memcmp(hello, secret.at, 32) ||
        f.payload != 42 + (hello[38] | hello[39] << 8) + size || memcmp(hello + 32, "\4\0part", 6) ||
        memcmp(hello + f.payload - size, name.at, size))
        die("the link does not begin with a hello to this part, of this run");
    send_frame((Frame){.op = ACKNOWLEDGE, .arg = number}, "");
    link_number = number;
    answer("\x12\x0d\x0a\x08" "language" "\x12\x01" "C", 15, GRPC_STATUS_OK, "");  // a fact
    at_hand.call = NULL;
    while (get_frame(&f)) {
        int access = f.flags & READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
        if (f.op == PING) send_frame(f, "");
        else if ((uint32_t)(f.bucket | (f.op == TENSOR ? f.rows : 0)) >= MOST) die("over %d buckets", MOST);
        else if (f.op == REDUCE) reduce(f);
        else if (f.op == TENSOR && f.flags == BUCKET) buckets[f.bucket] = (float *)(segments[f.rows] + f.arg);
        else if (f.op == SEGMENT) {
            segments[f.bucket] = mmap(NULL, f.arg, access, MAP_SHARED, descriptor, 0);
            if (segments[f.bucket] == MAP_FAILED) die("cannot map segment %d: %m", f.bucket);
            close(descriptor);
        } else if (f.op != TENSOR) die("a hook does not know frame 0x%x", f.op);
    }
    return NULL;
}

static void *serve(void *of) {  // in a thread of its own for every call
    grpc_op begin = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    char reply[256] = "", *at = reply;
    int status = GRPC_STATUS_OK;
    struct rusage used;
    at_hand = *(Call *)of;
    const char *method = at_hand.method;
    run(&begin, 1);
    if (!strcmp(method, "Connect")) return serve_link(read_request());
    if (!strcmp(method, "Watch")) {
        while (answer("\n", 2, GOES_ON, "")) sleep(1);  // an Event: an empty Heartbeat
        return NULL;
    }
    if (!strcmp(method, "Configure")) configure(read_request(), reply);
    else if (!strcmp(method, "Describe")) strcpy(reply, DESCRIPTION);
    else if (!strcmp(method, "Check")) strcpy(reply, "\x08\x01");
    else if (!strcmp(method, "Collect") && !getrusage(RUSAGE_SELF, &used)) {
        *at++ = 7 << 3;  // peak_rss_bytes
        for (uint64_t n = used.ru_maxrss * 1024ULL; n; n >>= 7) *at++ = (n & 0x7f) | (n > 0x7f ? 0x80 : 0);
    } else if (!strstr("Reset Close Shutdown StreamStdio", method)) status = GRPC_STATUS_UNIMPLEMENTED;
    answer(status || !strcmp(method, "StreamStdio") ? NULL : reply, strlen(reply), status, "");
    if (!strcmp(method, "Shutdown")) _exit(0);
    return NULL;
}

int main(void) {
    char *folder = getenv("PSBENCH_PLUGIN_DIR"), address[160];
    if (!getenv("PSBENCH_PLUGIN") || !folder) die("psbench starts this program: register it with psbench");
    snprintf(address, sizeof address, "unix:%s/clip.%d.sock", folder, getpid());
    grpc_init();
    grpc_completion_queue *calls = grpc_completion_queue_create_for_next(NULL);
    grpc_server *server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(server, calls, NULL);
    if (!grpc_server_add_http2_port(server, address, grpc_insecure_server_credentials_create()))
        die("cannot listen on %s", address);
    grpc_server_start(server);
    printf("1|2001|unix|%s|grpc\n", address + strlen("unix:")), fflush(stdout), dup2(2, 1);
    for (pthread_t thread;; pthread_detach(thread)) {
        Call *c = calloc(1, sizeof *c);
        grpc_call_details to; grpc_metadata_array metadata;
        grpc_call_details_init(&to), grpc_metadata_array_init(&metadata);
        c->done = grpc_completion_queue_create_for_pluck(NULL);
        grpc_server_request_call(server, &c->call, &to, &metadata, c->done, calls, NULL);
        grpc_completion_queue_next(calls, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        c->method = strrchr(grpc_slice_to_c_string(to.method), '/') + 1;  // of /psbench.v1.Part/Watch, say
        grpc_call_details_destroy(&to), grpc_metadata_array_destroy(&metadata);
        if (pthread_create(&thread, NULL, serve, c)) die("cannot start a thread");
    }
}
