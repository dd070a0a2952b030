#include "icu_reference.h"

#include <cstring>
#include <memory>
#include <string>
#include <unicode/msgfmt.h>
#include <unicode/numfmt.h>
#include <unicode/plurrule.h>
#include <unicode/reldatefmt.h>
#include <unicode/unistr.h>
#include <vector>

struct IcuPattern {
  icu::MessageFormat format;
};

struct IcuRelative {
  icu::RelativeDateTimeFormatter format;
};

static icu::Locale locale_named(const char *tag) {
  UErrorCode status = U_ZERO_ERROR;
  return icu::Locale::forLanguageTag(tag, status);
}

static int32_t copy_out(const icu::UnicodeString &text, char *result, int32_t capacity) {
  std::string utf8;
  text.toUTF8String(utf8);
  if (static_cast<int32_t>(utf8.size()) > capacity) return -1;
  std::memcpy(result, utf8.data(), utf8.size());
  return static_cast<int32_t>(utf8.size());
}

extern "C" IcuPattern *icu_pattern_create(const char *locale, const char *pattern) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError place;
  icu::MessageFormat format(
      icu::UnicodeString::fromUTF8(pattern), locale_named(locale), place, status);
  return U_SUCCESS(status) ? new IcuPattern{format} : nullptr;
}

extern "C" void icu_pattern_destroy(IcuPattern *pattern) { delete pattern; }

extern "C" int32_t icu_pattern_format(
    const IcuPattern *pattern, const char *actor, const char *other, int64_t actors, int64_t count,
    const char *actor_final, const char *other_final, char *result, int32_t capacity) {
  const icu::UnicodeString names[] = {
      u"actor", u"other", u"actors", u"count", u"actorFinal", u"otherFinal"};
  const icu::Formattable values[] = {
      icu::Formattable(icu::UnicodeString::fromUTF8(actor)),
      icu::Formattable(icu::UnicodeString::fromUTF8(other)),
      icu::Formattable(actors),
      icu::Formattable(count),
      icu::Formattable(icu::UnicodeString::fromUTF8(actor_final)),
      icu::Formattable(icu::UnicodeString::fromUTF8(other_final))};
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString text;
  pattern->format.format(names, values, 6, text, status);
  return U_SUCCESS(status) ? copy_out(text, result, capacity) : -1;
}

extern "C" int32_t icu_pattern_format_with(
    const IcuPattern *pattern, const char *const *names, const char *const *texts,
    const int64_t *numbers, int32_t count, char *result, int32_t capacity) {
  std::vector<icu::UnicodeString> keys;
  std::vector<icu::Formattable> values;
  for (int32_t index = 0; index < count; index++) {
    keys.push_back(icu::UnicodeString::fromUTF8(names[index]));
    values.push_back(
        texts[index] ? icu::Formattable(icu::UnicodeString::fromUTF8(texts[index]))
                     : icu::Formattable(numbers[index]));
  }
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString text;
  pattern->format.format(keys.data(), values.data(), count, text, status);
  return U_SUCCESS(status) ? copy_out(text, result, capacity) : -1;
}

extern "C" int32_t icu_plural_category(const char *locale, int64_t number) {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::PluralRules> rules(
      icu::PluralRules::forLocale(locale_named(locale), status));
  if (U_FAILURE(status)) return -1;
  icu::UnicodeString keyword = rules->select(static_cast<double>(number));
  const char16_t *keywords[] = {u"zero", u"one", u"two", u"few", u"many", u"other"};
  for (int32_t index = 0; index < 6; index++) {
    if (keyword == icu::UnicodeString(keywords[index])) return index;
  }
  return -1;
}

extern "C" int32_t icu_number(
    const char *locale, int64_t number, char *result, int32_t capacity) {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::NumberFormat> format(
      icu::NumberFormat::createInstance(locale_named(locale), status));
  if (U_FAILURE(status)) return -1;
  icu::UnicodeString text;
  format->format(number, text);
  return copy_out(text, result, capacity);
}

extern "C" IcuRelative *icu_relative_create(const char *locale) {
  UErrorCode status = U_ZERO_ERROR;
  icu::RelativeDateTimeFormatter format(locale_named(locale), status);
  return U_SUCCESS(status) ? new IcuRelative{format} : nullptr;
}

extern "C" void icu_relative_destroy(IcuRelative *relative) { delete relative; }

extern "C" int32_t icu_relative_format(
    const IcuRelative *relative, int32_t unit, int64_t amount, int32_t named, char *result,
    int32_t capacity) {
  const URelativeDateTimeUnit units[] = {
      UDAT_REL_UNIT_SECOND, UDAT_REL_UNIT_MINUTE, UDAT_REL_UNIT_HOUR, UDAT_REL_UNIT_DAY,
      UDAT_REL_UNIT_WEEK, UDAT_REL_UNIT_MONTH, UDAT_REL_UNIT_YEAR};
  if (unit < 0 || unit >= 7) return -1;
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString text;
  const double offset = static_cast<double>(amount);
  if (named) {
    relative->format.format(offset, units[unit], text, status);
  } else {
    relative->format.formatNumeric(offset, units[unit], text, status);
  }
  return U_SUCCESS(status) ? copy_out(text, result, capacity) : -1;
}
