#include "symbols/unitfunctions.h"

#include "symbols/coderanges.h"

#include <dwarf.h>
#include <stdlib.h>

enum { DEPTH_MOST = 256 };

struct unit {
    struct keyed keyed;           /* address of its entry in memory, 0 */
    struct code_ranges functions; /* owner: offset of the entry in the section */
};

/* gcc puts the function of an OpenMP region below its source function, whose code does not include it. */
static void functions_add(struct code_ranges *functions, Dwarf_Die *parent, int depth, Dwarf_Off *seen)
{
    Dwarf_Die child;
    Dwarf_Addr base, low, high;
    for (int more = depth ? dwarf_child(parent, &child) : 1; more == 0; more = dwarf_siblingof(&child, &child)) {
        if (dwarf_dieoffset(&child) <= *seen)
            return; /* in a damaged file an entry may point back, so each entry is read once */
        *seen = dwarf_dieoffset(&child);
        switch (dwarf_tag(&child)) {
        case DW_TAG_subprogram:
            for (ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &low, &high)) > 0;)
                code_ranges_add(functions, low, high, dwarf_dieoffset(&child));
            /* fall through */
        case DW_TAG_lexical_block:
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            functions_add(functions, &child, depth - 1, seen);
            break;
        default:
            break;
        }
    }
}

static const struct code_ranges *functions_of(struct keytable *units, Dwarf_Die *die)
{
    uint64_t key = (uint64_t)(uintptr_t)die->addr;
    struct unit *unit = keytable_find(units, key, 0);
    if (!unit && (unit = keytable_make(units, key, 0, sizeof *unit))) {
        functions_add(&unit->functions, die, DEPTH_MOST, &(Dwarf_Off){dwarf_dieoffset(die)});
        code_ranges_sort(&unit->functions);
    }
    return unit ? &unit->functions : NULL;
}

int unit_functions_find(struct keytable *units, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *list, int room)
{
    const struct code_ranges *functions = functions_of(units, unit);
    const struct code_range *function = functions ? code_ranges_find(functions, address) : NULL;
    if (!function || !dwarf_offdie(dwarf_cu_getdwarf(unit->cu), function->owner, &list[0]))
        return 0;
    int count = 1;
    Dwarf_Die child, parent = list[0];
    for (int more = dwarf_child(&parent, &child); more == 0 && count < room;) {
        int tag = dwarf_tag(&child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, address) > 0) {
            if (tag == DW_TAG_inlined_subroutine)
                list[count++] = child;
            parent = child;
            more = dwarf_child(&parent, &child);
        } else {
            more = dwarf_siblingof(&child, &child);
        }
    }
    return count;
}

static void unit_release(struct keyed *keyed)
{
    free(((struct unit *)keyed)->functions.list);
    free(keyed);
}

void unit_functions_release(struct keytable *units)
{
    keytable_release(units, unit_release);
}
