#include "exporter/httpaccess.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void http_access_open(struct http_access *access, const char *where, bool loopback)
{
    char port[8];
    struct addrinfo *list, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME};
    access->any_host = http_address_path(where) != NULL;
    if (access->any_host)
        return;
    http_address_split(where, access->own[0], port);
    if (loopback || gethostname(access->own[1], HOST_BYTES - 1) != 0)
        return;
    if (getaddrinfo(access->own[1], NULL, &hints, &list) != 0)
        return;
    snprintf(access->own[2], HOST_BYTES, "%s", list->ai_canonname ? list->ai_canonname : "");
    freeaddrinfo(list);
}

/* Finds the name in a Host header, without its port. Returns false if it is not valid. */
static bool name_take(const char *host, char name[HOST_BYTES])
{
    bool six = host[0] == '[';
    const char *begin = host + six;
    size_t bytes = strcspn(begin, six ? "]" : ":");
    if (!six && bytes && begin[bytes - 1] == '.') /* the root of all names */
        bytes--;
    if (bytes == 0 || bytes >= HOST_BYTES)
        return false;
    memcpy(name, begin, bytes);
    name[bytes] = '\0';
    return true;
}

bool http_host_is_known(const struct http_access *access, const char *host)
{
    char name[HOST_BYTES];
    unsigned char address[16];
    if (access->any_host || !host) /* HTTP/1.0 has none, and no browser speaks that */
        return true;
    if (!name_take(host, name))
        return false;
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1 ||
        strcasecmp(name, "localhost") == 0)
        return true;
    for (size_t i = 0; i < OWN_NAMES; i++)
        if (access->own[i][0] && strcasecmp(name, access->own[i]) == 0)
            return true;
    for (size_t i = 0; i < access->host_count; i++)
        if (strcasecmp(name, access->hosts[i]) == 0)
            return true;
    return false;
}

int http_token_read(struct http_access *access, const char *path, char error[512])
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(access->token, TOKEN_BYTES, file)) {
        snprintf(error, 512, "the token file %.300s cannot be read: %s", path, file ? "it is empty" : strerror(errno));
        if (file)
            fclose(file);
        return -1;
    }
    fclose(file);
    size_t bytes = strcspn(access->token, "\r\n");
    bool whole = access->token[bytes] || bytes + 1 < TOKEN_BYTES;
    access->token[bytes] = '\0';
    if (bytes && whole)
        return 0;
    snprintf(error, 512, "the first line of %.300s is not a token; allowed are 1 to %d bytes", path, TOKEN_BYTES - 2);
    return -1;
}

/* Takes the same time for each wrong token. */
static bool token_equals(const char *token, const char *given)
{
    size_t bytes = strlen(token), given_bytes = strlen(given);
    unsigned char different = bytes != given_bytes;
    for (size_t i = 0; i < bytes; i++)
        different |= (unsigned char)(token[i] ^ given[given_bytes ? i % given_bytes : 0]);
    return !different;
}

bool http_token_is_right(const struct http_access *access, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!access->token[0])
        return true;
    return authorization && strncasecmp(authorization, scheme, sizeof scheme - 1) == 0 &&
           token_equals(access->token, authorization + sizeof scheme - 1);
}
