/** Maximum number of characters of a number that is compared. */
export const MAX_NUMBER_LENGTH = 400;
/** A number of at most so many characters keeps its digits as a double, unless it has an exponent. */
const SAFE_LENGTH = 15;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const LONG_INTEGER = /^-?\d{16,}$/;

/** True for a number as JSON has it. */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/** True for a digit, a sign, a point and the letter of an exponent. */
export function isNumberCode(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e || (code | 0x20) === 0x65;
}

/** True for a number that has other digits once it is read as a double and written again. */
export function isChangedNumber(text: string): boolean {
  if (text.length <= SAFE_LENGTH && !/e/i.test(text)) return false;
  const value = Number(text);
  if (digitsOf(text) !== digitsOf(String(value))) return true;
  // A long integer is unchanged only if it is written again in exactly these digits.
  return LONG_INTEGER.test(text) && !Number.isSafeInteger(value) && String(value) !== text;
}

/** The digits of a number that count, without its sign, its point and its exponent. */
function digitsOf(number: string): string {
  const [digits = ''] = number.replace(/[-.]/g, '').split(/[eE]/);
  return digits.replace(/^0+|0+$/g, '');
}
