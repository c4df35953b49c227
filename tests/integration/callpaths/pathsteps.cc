// Steps in C++. Compiled in many ways into one program.
#include "pathwalk.h"

#include <functional>
#include <memory>

// One type for all of these files.
struct Leave {
    unsigned level;
};

namespace
{
struct Shape {
    virtual ~Shape() = default;
    virtual unsigned long visit(struct walk *walk, unsigned level) = 0;
};

struct Circle : Shape {
    unsigned long visit(struct walk *walk, unsigned level) override
    {
        call_here(walk);
        return descend(walk, level) + 1;
    }
};

struct Square : Shape {
    long side[20] = {1};
    unsigned long visit(struct walk *walk, unsigned level) override
    {
        unsigned long sum = descend(walk, level) + static_cast<unsigned long>(side[level % 20]);
        call_here(walk);
        return sum;
    }
};

// A destructor that calls MPI, also while an exception is on its way.
struct Guard {
    struct walk *walk;
    ~Guard()
    {
        call_here(walk);
    }
};

unsigned long virtual_call(struct walk *walk, unsigned level)
{
    std::unique_ptr<Shape> shape;
    if (walk_draw(walk, 2))
        shape.reset(new Circle);
    else
        shape.reset(new Square);
    // steps may leave by longjmp, past the destructor: then the shape is lost
    return shape->visit(walk, level);
}

template <typename Function> inline unsigned long twice(const Function &function)
{
    return function(1) + function(2);
}

unsigned long lambda(struct walk *walk, unsigned level)
{
    return twice([&](unsigned times) {
        if (walk->calls <= 0)
            return 0ul;
        call_here(walk);
        return times == 2 ? descend(walk, level) : 0ul;
    });
}

unsigned long stored_function(struct walk *walk, unsigned level)
{
    const std::function<unsigned long(unsigned)> function = [walk](unsigned below) {
        call_here(walk);
        return descend(walk, below);
    };
    return function(level) + 1;
}

template <int N> struct Inlined {
    static inline unsigned long go(struct walk *walk, unsigned level)
    {
        call_here(walk);
        return Inlined<N - 1>::go(walk, level) + N;
    }
};

template <> struct Inlined<0> {
    static inline unsigned long go(struct walk *walk, unsigned level)
    {
        return descend(walk, level);
    }
};

unsigned long templates(struct walk *walk, unsigned level)
{
    return Inlined<3>::go(walk, level);
}

unsigned long catching(struct walk *walk, unsigned level)
{
    jmp_buf *jump = walk->jump;
    int catchers = walk->catchers;
    unsigned long sum = 0;
    try {
        walk->catchers++;
        sum = descend(walk, level);
    } catch (const Leave &leave) {
        call_here(walk);
        sum = leave.level;
    }
    walk->catchers = catchers;
    walk->jump = jump;
    call_here(walk);
    return sum;
}

unsigned long throwing(struct walk *walk, unsigned level)
{
    call_here(walk);
    unsigned long sum = descend(walk, level);
    if (walk->catchers > 0 && walk_draw(walk, 2))
        throw Leave{level};
    return sum;
}

unsigned long guarded(struct walk *walk, unsigned level)
{
    Guard guard{walk};
    return descend(walk, level);
}

const walk_step steps[] = {virtual_call, lambda, stored_function, templates, catching, throwing, guarded};

__attribute__((constructor)) void steps_register()
{
    walk_register(steps, sizeof steps / sizeof steps[0]);
}
} // namespace
