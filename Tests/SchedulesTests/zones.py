"""What Python's zoneinfo says about every zone around its changes: the reference for ZoneTests.

Usage: zones.py DIRECTORY

Writes "Z name gaps folds" for each zone, then its probes, all numbers in seconds since 1970:
"U instant local", and "L local instant", which is the first of two instants and, for a local time
that does not exist, what the offset before the gap makes of it (PEP 495: fold=0).
"""

import random
import sys
import zoneinfo
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1)
UTC_EPOCH = EPOCH.replace(tzinfo=timezone.utc)
# The second and third stretch are beyond the transitions that files list, so footers decide.
STRETCHES = [(2020, 2036), (2040, 2044), (2099, 2102)]
# No two changes are nearer than a week.
STEP = 7 * 86400


def offset_at(zone, instant):
    moment = UTC_EPOCH + timedelta(seconds=instant)
    return int(moment.astimezone(zone).utcoffset().total_seconds())


def instant_of(zone, local):
    nominal = (EPOCH + timedelta(seconds=local)).replace(tzinfo=zone, fold=0)
    return local - int(nominal.utcoffset().total_seconds())


def transitions(zone):
    """The instants at which the offset changes, with the offsets before and after."""
    for first_year, last_year in STRETCHES:
        start = int((datetime(first_year, 1, 1) - EPOCH).total_seconds())
        end = int((datetime(last_year, 1, 1) - EPOCH).total_seconds())
        before = offset_at(zone, start)
        for sample in range(start + STEP, end, STEP):
            after = offset_at(zone, sample)
            if after != before:
                low, high = sample - STEP, sample
                while high - low > 1:
                    middle = (low + high) // 2
                    if offset_at(zone, middle) == before:
                        low = middle
                    else:
                        high = middle
                yield high, before, after
            before = after


def probes(zone, changes, rng):
    instants, locals = set(), set()
    for instant, before, after in changes:
        instants.update((instant - 1, instant, instant + 1))
        low, high = sorted((instant + before, instant + after))
        half = (high - low) // 2
        for edge in (low, high):
            locals.update((edge - 1, edge, edge + 1, edge - half, edge + half))
    for _ in range(12):
        # 2000 to 2199.
        instants.add(rng.randrange(946684800, 7258118400))
        locals.add(rng.randrange(946684800, 7258118400))
    return sorted(instants), sorted(locals)


def main():
    directory = sys.argv[1]
    zoneinfo.reset_tzpath([directory])
    known = {}
    out = []
    for name in sorted(zoneinfo.available_timezones() - {"localtime", "Factory"}):
        with open(f"{directory}/{name}", "rb") as file:
            contents = file.read()
        if contents not in known:
            # Old names share their file, so this is computed once.
            zone = zoneinfo.ZoneInfo(name)
            changes = list(transitions(zone))
            instants, locals = probes(zone, changes, random.Random(name))
            gaps = sum(after > before for _, before, after in changes)
            lines = [f"{gaps} {len(changes) - gaps}"]
            lines += [f"U {t} {t + offset_at(zone, t)}" for t in instants]
            lines += [f"L {t} {instant_of(zone, t)}" for t in locals]
            known[contents] = "\n".join(lines)
        out.append(f"Z {name} {known[contents]}\n")
    sys.stdout.write("".join(out))


main()
