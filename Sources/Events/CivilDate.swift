/// A date of the proleptic Gregorian calendar.
package struct CivilDate: Equatable, Sendable {
  package var year: Int
  /// 1 to 12.
  package var month: Int
  /// 1 to 31.
  package var day: Int

  package init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date of a day number: days since 1970-01-01.
  ///
  /// Both conversions follow Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": years
  /// begin in March, so that a leap day is the last day of a year and the months before it have fixed
  /// lengths, 153 days for every five. An era is 400 years.
  package init(dayNumber: Int) {
    let shifted = dayNumber + 719_468
    let era = shifted.quotient(146_097)
    let dayOfEra = shifted.modulo(146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Days since 1970-01-01. A day beyond its month counts on into the next.
  package var dayNumber: Int {
    let marchYear = month <= 2 ? year - 1 : year
    let era = marchYear.quotient(400)
    let yearOfEra = marchYear.modulo(400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  package static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Days in a month, 28 to 31.
  package static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension FixedWidthInteger {
  /// The quotient, rounded down. The divisor must be positive.
  @inlinable package func quotient(_ divisor: Self) -> Self {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The remainder of `quotient`, 0 to divisor - 1.
  @inlinable package func modulo(_ divisor: Self) -> Self {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
