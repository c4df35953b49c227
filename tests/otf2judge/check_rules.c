#include "check_rules.h"

const struct check_rule_text check_rules[RULE_COUNT] = {
#define X(enumerator, identifier_, error, area_, text_)                                                                \
    [RULE_##enumerator] = {.identifier = identifier_, .area = area_, .text = text_, .is_error = error},
    CHECK_RULES(X)
#undef X
};

void check_rules_print(FILE *out)
{
    for (int rule = 0; rule < RULE_COUNT; rule++)
        fprintf(out, "%-28s  %-7s  %-11s  %s\n", check_rules[rule].identifier,
                check_rules[rule].is_error ? "error" : "warning", check_rules[rule].area, check_rules[rule].text);
}
