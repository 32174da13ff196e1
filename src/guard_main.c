/* SPDX-License-Identifier: ISC */
#include "guard/guard.h"

int main(int argc, char **argv)
{
    return guard_run(argc, argv);
}
