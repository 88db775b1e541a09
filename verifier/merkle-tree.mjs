import { createHash } from 'node:crypto';

/** Root of the empty tree. */
const EMPTY = createHash('sha256').digest();

/**
 * A Merkle tree as in RFC 6962, section 2.1, that grows leaf by leaf. It keeps only the hashes of the complete
 * subtrees it consists of, the largest first: as many as its size has ones in binary.
 */
export class MerkleTree {
  size = 0;
  /** @type {Buffer[]} */
  #subtrees = [];

  /**
   * @param {Uint8Array} data the leaf
   * @returns {{ level: number, position: number, hash: Buffer }[]} the complete subtrees that end with it, the leaf
   * first
   */
  add(data) {
    let hash = createHash('sha256').update(Uint8Array.of(0)).update(data).digest();
    let [level, position] = [0, this.size];
    const completed = [{ level, position, hash }];
    for (; position % 2 === 1; position = (position - 1) / 2) {
      hash = nodeHash(/** @type {Buffer} */ (this.#subtrees.pop()), hash);
      level += 1;
      completed.push({ level, position: (position - 1) / 2, hash });
    }
    this.#subtrees.push(hash);
    this.size += 1;
    return completed;
  }

  get root() {
    return (
      this.#subtrees.reduceRight(
        (/** @type {Buffer | null} */ right, left) => (right ? nodeHash(left, right) : left),
        null,
      ) ?? EMPTY
    );
  }

  /** Size and subtrees as the head record of a database keeps them. */
  get frontier() {
    return `${this.size}:${Buffer.concat(this.#subtrees).toString('hex')}`;
  }
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 */
function nodeHash(left, right) {
  return createHash('sha256').update(Uint8Array.of(1)).update(left).update(right).digest();
}
