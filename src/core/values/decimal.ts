/** An exact decimal number, zero or positive: `digits` divided by ten to the power of `scale`. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { digits: 0n, scale: 0 };

const MAX_DIGITS = 15;
const PLAIN = /^\d+(?:\.\d+)?$/;

/**
 * Returns the decimal that ECMAScript prints for a JSON number. Null unless the number is zero or positive, is printed
 * without an exponent, and has at most 15 digits, which doubles tell apart.
 */
export function decimalOf(value: unknown): Decimal | null {
  if (typeof value !== 'number') return null;
  const text = String(value);
  return PLAIN.test(text) && text.replace('.', '').length <= MAX_DIGITS ? parsedDecimal(text) : null;
}

/** True if {@link parsedDecimal} accepts the text. */
export function isDecimal(text: string): boolean {
  return PLAIN.test(text);
}

/** @throws for a text that is not a decimal number. */
export function parsedDecimal(text: string): Decimal {
  if (!isDecimal(text)) throw new Error(`"${text}" is not a decimal number.`);
  const [whole = '', fraction = ''] = text.split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

/** Writes a decimal without an exponent and without trailing zeros in its fraction. */
export function decimalText({ digits, scale }: Decimal): string {
  const text = String(digits).padStart(scale + 1, '0');
  const whole = text.slice(0, text.length - scale);
  const fraction = text.slice(text.length - scale).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

export function sumOf(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return { digits: scaled(left, scale) + scaled(right, scale), scale };
}

/** Returns a negative number if `left` is less, a positive one if it is greater. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const scale = Math.max(left.scale, right.scale);
  const [one, other] = [scaled(left, scale), scaled(right, scale)];
  return one === other ? 0 : one < other ? -1 : 1;
}

/** True if the amount is at least `percent` per cent of the whole. */
export function isPercentOf(amount: Decimal, percent: number, whole: Decimal): boolean {
  const hundredfold = { ...amount, digits: amount.digits * 100n };
  return compareDecimals(hundredfold, { ...whole, digits: whole.digits * BigInt(percent) }) >= 0;
}

function scaled({ digits, scale }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - scale);
}
