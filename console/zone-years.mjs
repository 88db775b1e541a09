/** The minutes from 1970 to 2100: later changes are left out. */
const LAST_MINUTE = Date.UTC(2100, 0) / 60_000;
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX';

/**
 * The zones of `moment-timezone` without their changes after 2100: the last offset before then holds for ever. Its database
 * lists each change up to the year 2499.
 * @param {readonly string[]} zones `name|abbreviations|offsets|indices|untils|…`.
 */
export function zonesUntil2100(zones) {
  return zones.map(zoneUntil2100);
}

/** @param {string} zone */
function zoneUntil2100(zone) {
  const [name, , offsets, indices = '', untils = ''] = zone.split('|');
  const lengths = untils === '' ? [] : untils.split(' ');
  let minute = 0;
  const later = lengths.findIndex((length) => (minute += wholeMinutes(length)) >= LAST_MINUTE);
  const count = later === -1 ? indices.length : later + 1;
  // Nothing reads the abbreviations.
  return [name, '', offsets, indices.slice(0, count), lengths.slice(0, count - 1).join(' ')].join('|');
}

/** The whole part of a number to the base 60, such as `-2m.s`. @param {string} text */
function wholeMinutes(text) {
  const [digits = ''] = text.replace('-', '').split('.');
  const size = [...digits].reduce((sum, digit) => sum * 60 + DIGITS.indexOf(digit), 0);
  return text.startsWith('-') ? -size : size;
}
