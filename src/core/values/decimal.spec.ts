import { compareDecimals, decimalOf, decimalText, isPercentOf, parsedDecimal, sumOf, ZERO } from './decimal';

/** A fraction of two integers, as a reference that has nothing in common with decimals. */
interface Rational {
  readonly over: bigint;
  readonly under: bigint;
}

function rational(text: string): Rational {
  const [whole = '', fraction = ''] = text.split('.');
  const under = BigInt(`1${'0'.repeat(fraction.length)}`);
  return { over: BigInt(whole) * under + BigInt(fraction === '' ? '0' : fraction), under };
}

function areEqual(one: Rational, other: Rational): boolean {
  return one.over * other.under === other.over * one.under;
}

/** Numbers as clients send them, of every size, always the same ones. */
function numbers(): number[] {
  let seed = 42;
  const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  return Array.from({ length: 2_000 }, () => {
    const digits = Math.floor(random() * 10 ** Math.ceil(random() * 15));
    return Number(`${digits}e-${Math.floor(random() * 7)}`);
  });
}

describe('an exact decimal', () => {
  const texts = numbers().flatMap((number) => {
    const decimal = decimalOf(number);
    return decimal === null ? [] : [{ number, decimal, text: decimalText(decimal) }];
  });

  it('has the text of its number', () => {
    expect(texts.length).toBeGreaterThan(1_500);
    for (const { number, text } of texts) expect(text).toBe(String(number));
  });

  it('adds and compares as fractions do', () => {
    let total = ZERO;
    let reference: Rational = { over: 0n, under: 1n };
    for (const [index, { decimal, text }] of texts.entries()) {
      const { over, under } = rational(text);
      reference = { over: reference.over * under + over * reference.under, under: reference.under * under };
      if (index % 50 === 0) reference = rational(decimalText(sumOf(total, decimal)));
      total = sumOf(total, decimal);
      expect(areEqual(rational(decimalText(total)), reference)).toBe(true);
      const next = texts[(index * 7) % texts.length]?.text ?? '0';
      const other = rational(next);
      const difference = over * other.under - other.over * under;
      expect(Math.sign(compareDecimals(decimal, parsedDecimal(next)))).toBe(
        difference === 0n ? 0 : difference < 0n ? -1 : 1,
      );
    }
  });

  it('does not round where doubles do', () => {
    const tenth = parsedDecimal('0.1');
    let sum = ZERO;
    for (let count = 0; count < 10; count += 1) sum = sumOf(sum, tenth);
    expect(decimalText(sum)).toBe('1');
    expect(decimalText(sumOf(parsedDecimal('0.1'), parsedDecimal('0.2')))).toBe('0.3');
    const large = parsedDecimal('999999999999999');
    expect(decimalText(sumOf(large, parsedDecimal('0.00001')))).toBe('999999999999999.00001');
  });

  it.each([0, 1, 0.5, 1e-6, 123456789012345, 0.12345678901234, -0])('is made of %p', (number) => {
    expect(decimalText(decimalOf(number) ?? { digits: -1n, scale: 0 })).toBe(String(number));
  });

  it.each([-1, -0.5, 1e-7, 1e21, 1234567890123456, 0.123456789012345, NaN, Infinity, '1', null, undefined, [1], {}])(
    'is not made of %p',
    (value) => expect(decimalOf(value)).toBeNull(),
  );

  it('knows its share of a whole', () => {
    const max = parsedDecimal('1000');
    expect(isPercentOf(parsedDecimal('799.99'), 80, max)).toBe(false);
    expect(isPercentOf(parsedDecimal('800'), 80, max)).toBe(true);
    expect(isPercentOf(ZERO, 80, ZERO)).toBe(true);
  });

  it('refuses other texts', () => {
    for (const text of ['', '-1', '1e3', '.5', '1.', ' 1']) expect(() => parsedDecimal(text)).toThrow('decimal');
  });
});
