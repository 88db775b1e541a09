/** A bit set of numbers from 0, as many as its words have bits. Sets combined with each other have the same length. */
export type Bits = Uint32Array;

const WORD = 32;

export function noBits(size: number): Bits {
  return new Uint32Array(Math.ceil(size / WORD));
}

export function addBit(bits: Bits, index: number): void {
  const word = index >>> 5;
  bits[word] = (bits[word] ?? 0) | (1 << (index & 31));
}

export function addBits(bits: Bits, others: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] ?? 0) | (others[word] ?? 0);
}

export function common(left: Bits, right: Bits): Bits {
  const bits = new Uint32Array(left.length);
  for (let word = 0; word < bits.length; word += 1) bits[word] = (left[word] ?? 0) & (right[word] ?? 0);
  return bits;
}

export function without(left: Bits, right: Bits): Bits {
  const bits = new Uint32Array(left.length);
  for (let word = 0; word < bits.length; word += 1) bits[word] = (left[word] ?? 0) & ~(right[word] ?? 0);
  return bits;
}

export function haveCommon(left: Bits, right: Bits): boolean {
  for (let word = 0; word < left.length; word += 1) if (((left[word] ?? 0) & (right[word] ?? 0)) !== 0) return true;
  return false;
}

export function isEmpty(bits: Bits): boolean {
  for (const word of bits) if (word !== 0) return false;
  return true;
}

export function* indexesOf(bits: Bits): Generator<number> {
  for (let index = 0; index < bits.length * WORD; index += 1)
    if (((bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0) yield index;
}
