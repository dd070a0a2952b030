"""What rings in a year, by the rules of reminders: the reference for YearTests.

Usage: year.py ZONES < STEPS

ZONES is the directory of time zones. A line of STEPS is a JSON object: at `clock` the worker either
applied the events of one topic as a batch, in no particular order, or rang what was due. A line of the
output is an occurrence that rang and was not withdrawn: user, reminder, nominal local time, the
microsecond since 1970 that is its alarm's time, and title, separated by tabs. Deliberately simple: occurrences are
found day by day, and the worker shares no code or data with it but the zones.
"""

import bisect
import calendar
import functools
import json
import sys
import zoneinfo
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1)
NEVER = datetime.min
# Nothing of the test comes after a rule's start by more than this.
HORIZON = timedelta(days=420)
WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


@functools.cache
def due(local, zone):
    """Microseconds. A time that exists twice is the first; one in a gap is as far after the gap."""
    offset = local.replace(tzinfo=zoneinfo.ZoneInfo(zone or "UTC"), fold=0).utcoffset()
    return (local - offset - EPOCH) // timedelta(microseconds=1)


def is_day(rule, first, day):
    interval = int(rule.get("INTERVAL", 1))
    if rule["FREQ"] == "DAILY":
        return (day - first).days % interval == 0
    if rule["FREQ"] == "WEEKLY":
        weekdays = rule.get("BYDAY", WEEKDAYS[first.weekday()]).split(",")
        monday, now = (date - timedelta(days=date.weekday()) for date in (first, day))
        return WEEKDAYS[day.weekday()] in weekdays and (now - monday).days // 7 % interval == 0
    months = (day.year - first.year) * 12 + day.month - first.month
    from_end = day.day - calendar.monthrange(day.year, day.month)[1] - 1
    wanted = [int(number) for number in rule.get("BYMONTHDAY", str(first.day)).split(",")]
    return months % interval == 0 and (day.day in wanted or from_end in wanted)


@functools.cache
def occurrences(at, repeats, zone):
    """The nominal times, ascending. The zone matters to an end in UTC alone."""
    start = datetime.fromisoformat(at)
    if not repeats:
        return [start]
    rule = dict(part.split("=") for part in repeats.split(";"))
    until = rule.get("UNTIL", "")
    found = []
    for number in range(HORIZON.days):
        local = start + timedelta(days=number)
        if len(found) >= int(rule.get("COUNT", 10**9)):
            break
        if until.endswith("Z"):
            end = datetime.strptime(until, "%Y%m%dT%H%M%SZ")
            if due(local, zone) > (end - EPOCH) // timedelta(microseconds=1):
                break
        elif until and local.strftime("%Y%m%dT%H%M%S") > until.ljust(15, "T")[:9] + (
            until[9:] or "235959"
        ):
            break
        if is_day(rule, start.date(), local.date()):
            found.append(local)
    return found


class Clocks:
    """When the worker rang: numbers of lines, and what its clock showed."""

    def __init__(self, rings):
        self.lines = [line for line, _ in rings]
        self.clocks = [clock for _, clock in rings]
        self.latest = []
        for clock in self.clocks:
            self.latest.append(max(clock, self.latest[-1] if self.latest else clock))

    def first(self, instant, after, before):
        """The first ring between two lines at a clock that shows at least the instant."""
        index = bisect.bisect_left(self.latest, instant)
        index = max(index, bisect.bisect_left(self.lines, after))
        while index < len(self.lines) and self.clocks[index] < instant:
            index += 1
        if index == len(self.lines) or self.lines[index] >= before:
            return None
        return self.lines[index], self.clocks[index]


class Reminder:
    def __init__(self):
        self.version = (float("-inf"), "")
        self.event = None
        # As it was named: without a name it is UTC, and not the same as one named so.
        self.zone = ""
        # The nominal time up to which all is decided.
        self.decided = NEVER
        self.line = 0
        # By nominal time: whether it counts, when it was due, its alarm's time, its title.
        self.rang = {}

    def names(self):
        if self.event is None:
            return []
        return occurrences(self.event["at"], self.event["repeats"], self.zone)

    def pending(self):
        names = self.names()
        return names[bisect.bisect_right(names, self.decided) :]

    def take(self, instant):
        """Rings what is due: the newest, if it is several. The same nominal time rings once."""
        ready = [name for name in self.pending() if due(name, self.zone) <= instant]
        if not ready:
            return
        name = self.decided = ready[-1]
        time = instant = due(name, self.zone)
        if name in self.rang:
            counts, _, before, _ = self.rang[name]
            if counts:
                return
            # Its alarm must be newer than the one that was withdrawn.
            time = max(time, before)
        self.rang[name] = (True, instant, time, self.event["title"])

    def live(self, line, clocks):
        """Lets the worker ring until a line."""
        while self.event is not None:
            pending = self.pending()
            if not pending:
                break
            ring = clocks.first(due(pending[0], self.zone), self.line, line)
            if ring is None:
                break
            self.line = ring[0]
            self.take(ring[1])
        self.line = line

    def begin(self, instant):
        """Rings nothing that was due by then."""
        past = [name for name in self.names() if due(name, self.zone) <= instant]
        if past:
            self.decided = past[-1]
            return
        # Nor what another zone would have made due by then.
        zone = zoneinfo.ZoneInfo(self.zone or "UTC")
        utc = EPOCH.replace(tzinfo=timezone.utc) + timedelta(microseconds=instant)
        self.decided = utc.astimezone(zone).replace(tzinfo=None, microsecond=0)
        # What is in a gap is due after it.
        for name in self.names():
            if name <= self.decided:
                self.decided = name - timedelta(seconds=1)
                break

    def set(self, event, clock, zone):
        version = (event["time"], event["id"])
        if version <= self.version:
            return
        # A version holds from its time, or from when the worker knew it by a clock that is behind.
        start = min(event["time"], clock)
        self.take(start)
        old, self.version = self.event, version
        self.event = None if event.get("cancelled") else event
        if self.event is not None:
            self.zone = event["zone"] or zone
            self.begin(start)
        follows = old is not None and self.event is not None and not old["zone"] + event["zone"]
        for name, (counts, instant, time, title) in self.rang.items():
            if not counts or instant <= event["time"]:
                continue
            # It rang by mistake, unless the new version has it, too. A person's new zone does not
            # make it another one.
            if name in self.names() and (follows or due(name, self.zone) == instant):
                continue
            self.rang[name] = (False, instant, time, title)

    def move(self, time, clock, zone):
        if self.event is None or self.event["zone"] or self.zone == zone:
            return
        start = min(time, clock)
        self.take(start)
        self.zone = zone
        if time <= self.version[0]:
            self.begin(min(self.version[0], clock))
        self.take(start)


def person(batches, clocks, end):
    zone, zone_version = "", (float("-inf"), "")
    reminders = {}
    for line, clock, events in batches:
        for reminder in reminders.values():
            reminder.live(line, clocks)
        for event in sorted(events, key=lambda event: (event["time"], event["id"])):
            if "reminder" in event:
                if event["reminder"] not in reminders:
                    reminders[event["reminder"]] = Reminder()
                    reminders[event["reminder"]].line = line
                reminders[event["reminder"]].set(event, clock, zone)
        # The newest of a batch decides alone.
        zones = [event for event in events if "reminder" not in event]
        newest = max(zones, key=lambda event: (event["time"], event["id"]), default=None)
        if newest and (newest["time"], newest["id"]) > zone_version:
            zone, zone_version = newest["zone"], (newest["time"], newest["id"])
            for reminder in reminders.values():
                reminder.move(newest["time"], clock, zone)
    for reminder in reminders.values():
        reminder.live(end, clocks)
    return reminders


def main():
    zoneinfo.reset_tzpath(to=[sys.argv[1]])
    rings, batches, end = [], {}, 0
    for line in sys.stdin:
        end += 1
        step = json.loads(line)
        if not step["events"]:
            rings.append((end, step["clock"]))
        people = {}
        for event in step["events"]:
            if event.get("instant"):
                # The local time in UTC, in whole seconds, not before the instant.
                utc = datetime.fromisoformat(event["instant"].replace("Z", "+00:00"))
                local = utc.astimezone(timezone.utc).replace(tzinfo=None)
                local += timedelta(microseconds=-local.microsecond % 1_000_000)
                event.update(at=local.isoformat(), zone="UTC")
            people.setdefault(event["user"], []).append(event)
        for user, events in people.items():
            batches.setdefault(user, []).append((end, step["clock"], events))
    clocks = Clocks(rings)
    for user in sorted(batches):
        for name, reminder in sorted(person(batches[user], clocks, end + 1).items()):
            for local, (counts, _, time, title) in sorted(reminder.rang.items()):
                if counts:
                    print(user, name, local.isoformat(), time, title, sep="\t")


main()
