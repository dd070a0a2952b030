"""Occurrences of generated rules, found day by day: the reference for RecurrenceTests.

Usage: recurrence.py DIRECTORY SEED RULES

Each line has, separated by tabs: the zone, the start, the rule, the end of the days that were
looked at, and the occurrences, each with the instant at which it is due: "local=instant", in seconds
since 1970. Deliberately simple; it shares no thought with the implementation.
"""

import calendar
import random
import sys
import zoneinfo
from datetime import date, datetime, time, timedelta, timezone

EPOCH = datetime(1970, 1, 1)
WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
ZONES = """
UTC Asia/Tokyo Asia/Seoul Asia/Kolkata Asia/Kathmandu Asia/Tehran Asia/Gaza Asia/Beirut
Asia/Jerusalem Asia/Manila Asia/Pyongyang Asia/Almaty Africa/Cairo Africa/Casablanca
Africa/El_Aaiun Africa/Juba America/New_York America/Los_Angeles America/St_Johns
America/Sao_Paulo America/Havana America/Asuncion America/Nuuk America/Scoresbysund
America/Mexico_City America/Santiago America/Caracas Antarctica/Troll Atlantic/Azores
Australia/Sydney Australia/Lord_Howe Europe/Berlin Europe/London Europe/Dublin Europe/Chisinau
Pacific/Apia Pacific/Chatham Pacific/Easter Pacific/Fiji Pacific/Norfolk Etc/GMT+12
""".split()


def seconds(local):
    return int((local - EPOCH).total_seconds())


def due(local, zone):
    return seconds(local) - int(local.replace(tzinfo=zone, fold=0).utcoffset().total_seconds())


def month_of(day):
    return day.year * 12 + day.month


def week_of(day, start):
    while WEEKDAYS[day.weekday()] != start:
        day -= timedelta(days=1)
    return day


def is_day(rule, first, day):
    interval = rule.get("INTERVAL", 1)
    if rule["FREQ"] == "DAILY":
        return (day - first).days % interval == 0
    if rule["FREQ"] == "WEEKLY":
        start = rule.get("WKST", "MO")
        if WEEKDAYS[day.weekday()] not in rule.get("BYDAY", [WEEKDAYS[first.weekday()]]):
            return False
        return (week_of(day, start) - week_of(first, start)).days // 7 % interval == 0
    if (month_of(day) - month_of(first)) % interval != 0:
        return False
    from_end = day.day - calendar.monthrange(day.year, day.month)[1] - 1
    wanted = rule.get("BYMONTHDAY", [first.day])
    return day.day in wanted or from_end in wanted


def is_after_end(rule, local, zone):
    until = rule.get("UNTIL")
    if until is None:
        return False
    if len(until) == 8:
        return local.strftime("%Y%m%d") > until
    if until.endswith("Z"):
        end = datetime.strptime(until, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        return due(local, zone) > end.timestamp()
    return local > datetime.strptime(until, "%Y%m%dT%H%M%S")


def occurrences(rule, start, zone, end):
    found = []
    day = start.date()
    while day <= end and len(found) < rule.get("COUNT", 10**9):
        local = datetime.combine(day, start.time())
        if is_day(rule, start.date(), day) and not is_after_end(rule, local, zone):
            found.append((seconds(local), due(local, zone)))
        day += timedelta(days=1)
    return found


def random_rule(rng, start, days):
    rule = {"FREQ": rng.choice(["DAILY", "WEEKLY", "MONTHLY"])}
    if rng.random() < 0.6:
        rule["INTERVAL"] = rng.choice([1, 2, 3, 4, 5, 7, 12, rng.randint(1, 60)])
    if rule["FREQ"] == "WEEKLY" and rng.random() < 0.8:
        rule["BYDAY"] = rng.sample(WEEKDAYS, rng.randint(1, 7))
    if rule["FREQ"] == "MONTHLY" and rng.random() < 0.8:
        choices = [29, 30, 31, -1, -29, -30, -31, rng.randint(1, 28), -rng.randint(1, 28)]
        rule["BYMONTHDAY"] = rng.sample(choices, rng.randint(1, 5))
    if rng.random() < 0.4:
        rule["WKST"] = rng.choice(WEEKDAYS)
    if rng.random() < 0.3:
        rule["COUNT"] = rng.choice([1, 2, rng.randint(1, 100), rng.randint(1, min(days, 10_000))])
    elif rng.random() < 0.5:
        # Near an occurrence, to the second.
        end = start + timedelta(days=rng.randint(-2, days), seconds=rng.choice([-1, 0, 1, 7200]))
        formats = ["%Y%m%d", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%SZ"]
        rule["UNTIL"] = end.strftime(rng.choice(formats))
    return rule


def text_of(rng, rule):
    parts = []
    for name, value in rule.items():
        value = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        part = f"{name}={value}"
        parts.append(rng.choice([part, part, part.lower(), part.capitalize()]))
    rng.shuffle(parts)
    return ";".join(parts)


def main():
    directory, seed, rules = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    zoneinfo.reset_tzpath([directory])
    rng = random.Random(seed)
    for number in range(rules):
        name = ZONES[number % len(ZONES)]
        # Half of them in the hours in which clocks change.
        hour = rng.choice([rng.randint(0, 3), rng.randint(0, 23)])
        minute, second = rng.choice([0, 30, rng.randint(0, 59)]), rng.choice([0, 0, 59])
        first = date(rng.choice([2010, 2011, 2025, 2027, 2036]), 1, 1)
        first += timedelta(days=rng.randint(0, 1000))
        start = datetime.combine(first, time(hour, minute, second))
        days = 75_000 if number % 250 == 7 else rng.randint(370, 500)
        end = min(first + timedelta(days=days), date(2199, 12, 31))
        rule = random_rule(rng, start, days)
        found = occurrences(rule, start, zoneinfo.ZoneInfo(name), end)
        listed = " ".join(f"{local}={instant}" for local, instant in found)
        last = seconds(datetime.combine(end, time(23, 59, 59)))
        print(name, start.isoformat(), text_of(rng, rule), last, listed, sep="\t")


main()
