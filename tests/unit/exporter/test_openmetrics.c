/* Metrics as text: what OpenMetrics asks of it. */
#include "exporter/httpserver.h"
#include "exporter/openmetrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_written(struct exposition *exposition, const char *expected)
{
    struct textbuffer text = {0};
    assert_true(exposition_write(exposition, &text));
    assert_string_equal(text.bytes, expected);
    text_free(&text);
}

static void counter_has_its_suffix(void **state)
{
    struct exposition all = {0};
    struct textbuffer labels = {0};
    (void)state;
    labels_add(&labels, "rank", "3");
    struct metric_family *family = exposition_family(&all, "sent_bytes", METRIC_COUNTER, "bytes", "Sent \"so\".");
    family_add(family, &labels, UINT64_MAX);
    family_add(family, NULL, 0);
    assert_written(&all, "# TYPE sent_bytes counter\n# UNIT sent_bytes bytes\n# HELP sent_bytes Sent \\\"so\\\".\n"
                         "sent_bytes_total{rank=\"3\"} 18446744073709551615\nsent_bytes_total 0\n# EOF\n");
    text_free(&labels);
    exposition_free(&all);
}

static void samples_of_a_family_stand_together(void **state)
{
    struct exposition all = {0};
    (void)state;
    family_add(exposition_family(&all, "a", METRIC_GAUGE, "", "h"), NULL, 1);
    family_add(exposition_family(&all, "b", METRIC_GAUGE, "", "h"), NULL, 2);
    family_add(exposition_family(&all, "a", METRIC_GAUGE, "", "h"), NULL, 3);
    exposition_family(&all, "empty", METRIC_GAUGE, "", "h");
    assert_written(&all, "# TYPE a gauge\n# HELP a h\na 1\na 3\n# TYPE b gauge\n# HELP b h\nb 2\n# EOF\n");
    exposition_free(&all);
}

static void nothing_is_an_end_alone(void **state)
{
    struct exposition all = {0};
    (void)state;
    assert_written(&all, "# EOF\n");
}

static void label_value_is_escaped_and_utf8(void **state)
{
    static const struct {
        const char *value, *shown;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"a\"b", "a\\\"b"},
        {"a\\b", "a\\\\b"},
        {"a\nb", "a\\nb"},
        {"\\n", "\\\\n"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},                                                 /* no character begins so */
        {"\x80x", "\xef\xbf\xbdx"},                                               /* nor so */
        {"\xc3", "\xef\xbf\xbd"},                                                 /* cut off */
        {"\xc3\"", "\xef\xbf\xbd\\\""},                                           /* the quote is one */
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* cut off later */
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* a NUL in two bytes */
        {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* a slash in three */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* half a surrogate pair */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* behind the last */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct textbuffer labels = {0}, expected = {0};
        labels_add(&labels, "l", cases[i].value);
        text_format(&expected, "l=\"%s\"", cases[i].shown);
        assert_string_equal(labels.bytes, expected.bytes);
        text_free(&labels);
        text_free(&expected);
    }
}

static void times_are_exact_seconds(void **state)
{
    struct exposition all = {0};
    (void)state;
    struct metric_family *family = exposition_family(&all, "t_seconds", METRIC_GAUGE, "seconds", "h");
    family_add_seconds(family, NULL, 1);
    family_add_seconds(family, NULL, 12345678901234567890u);
    assert_written(&all, "# TYPE t_seconds gauge\n# UNIT t_seconds seconds\n# HELP t_seconds h\nt_seconds "
                         "0.000000001\nt_seconds 12345678901.234567890\n# EOF\n");
    exposition_free(&all);
}

static void histogram_is_cumulative_with_fewer_buckets(void **state)
{
    static const uint64_t counts[] = {1, 2, 4, 8, 16}, limits[] = {0, 1, 3, 7, UINT64_MAX};
    static const unsigned edges[] = {0, 2, 4};
    struct histogram histogram = {counts, limits, 5, edges, 3, 99, true};
    struct exposition all = {0};
    struct textbuffer labels = {0};
    (void)state;
    labels_add(&labels, "a", "b");
    assert_int_equal(histogram_samples(&histogram), 5);
    family_add_histogram(exposition_family(&all, "h", METRIC_HISTOGRAM, "", "h"), &labels, &histogram);
    histogram.has_sum = false;
    assert_int_equal(histogram_samples(&histogram), 3);
    family_add_histogram(exposition_family(&all, "i", METRIC_HISTOGRAM, "", "h"), NULL, &histogram);
    assert_int_equal(all.families[0]->samples, 5);
    assert_written(&all,
                   "# TYPE h histogram\n# HELP h h\nh_bucket{a=\"b\",le=\"0.0\"} 1\nh_bucket{a=\"b\",le=\"3.0\"} 7\n"
                   "h_bucket{a=\"b\",le=\"+Inf\"} 31\nh_count{a=\"b\"} 31\nh_sum{a=\"b\"} 99\n"
                   "# TYPE i histogram\n# HELP i h\ni_bucket{le=\"0.0\"} 1\ni_bucket{le=\"3.0\"} 7\n"
                   "i_bucket{le=\"+Inf\"} 31\n# EOF\n");
    text_free(&labels);
    exposition_free(&all);
}

static void address_is_a_host_and_a_port(void **state)
{
    static const char *const wrong[] = {"",         ":80",         "host",      "host:",   "host:x",  "1.2.3.4:65536",
                                        "::1:80",   "[::1]",       "[]:80",     "[::1:80", "host:-1", "http://host:80",
                                        "host:80 ", "host:999999", "[::1]]:80", "a b:80"};
    char host[ADDRESS_TEXT_BYTES], port[8], long_host[300];
    (void)state;
    assert_true(http_address_split("127.0.0.1:9", host, port));
    assert_string_equal(host, "127.0.0.1");
    assert_string_equal(port, "9");
    assert_true(http_address_split("[::1]:65535", host, port));
    assert_string_equal(host, "::1");
    assert_true(http_address_split("0", host, port));
    assert_string_equal(host, "127.0.0.1");
    assert_string_equal(port, "0");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (http_address_split(wrong[i], host, port))
            fail_msg("'%s' is no address", wrong[i]);
    memset(long_host, 'a', sizeof long_host);
    strcpy(long_host + 250, ":80");
    assert_false(http_address_split(long_host, host, port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_has_its_suffix),       cmocka_unit_test(samples_of_a_family_stand_together),
        cmocka_unit_test(nothing_is_an_end_alone),      cmocka_unit_test(label_value_is_escaped_and_utf8),
        cmocka_unit_test(times_are_exact_seconds),      cmocka_unit_test(histogram_is_cumulative_with_fewer_buckets),
        cmocka_unit_test(address_is_a_host_and_a_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
