import { createHash } from 'node:crypto';
import type { PolicyDefaultEffect } from '../../core/config/variables/governance-variables';

/**
 * The versions of the rules by which policies are evaluated, the current one last: raised whenever the same policies
 * would decide otherwise. 2: on whose behalf an agent acts, and limits.
 */
export const EVALUATIONS = [1, 2] as const;
export type EvaluationVersion = (typeof EVALUATIONS)[number];
const CURRENT: EvaluationVersion = 2;

/** Characters hashed at once: one text of 10,000 policies would take several times as long. */
const PIECE = 32 * 1024;

/**
 * Identifies everything that policies decide by: the default effect, the rules of evaluation, and the policies in force
 * with their contents.
 */
export class RulesInForce {
  /** For each policy, by id, its id and the hash of its content as JSON. */
  private pairs = new Map<string, string>();
  private isSorted = true;
  private last = '';
  /** By the default effect and the version of the rules of evaluation. */
  private readonly known = new Map<string, string>();

  /** @param contentHash hex SHA-256 of what `hashedContent` returns. */
  put(id: string, contentHash: string): void {
    if (id < this.last) this.isSorted = false;
    else this.last = id;
    this.pairs.set(id, `["${id}","${contentHash}"]`);
    this.known.clear();
  }

  remove(id: string): void {
    this.pairs.delete(id);
    this.known.clear();
  }

  /** In order. */
  get ids(): readonly string[] {
    this.sort();
    return [...this.pairs.keys()];
  }

  /** Hex SHA-256 of the RFC 8785 form of `{ defaultEffect, evaluation, policies: [[id, content hash], …] }`. */
  hash(defaultEffect: PolicyDefaultEffect, evaluation = CURRENT): string {
    const name = `${defaultEffect} ${evaluation}`;
    const known = this.known.get(name);
    if (known !== undefined) return known;
    this.sort();
    const digest = createHash('sha256');
    let text = `{"defaultEffect":"${defaultEffect}","evaluation":${evaluation},"policies":[`;
    let separator = '';
    for (const pair of this.pairs.values()) {
      text += separator + pair;
      separator = ',';
      if (text.length < PIECE) continue;
      digest.update(text, 'latin1');
      text = '';
    }
    const hash = digest.update(`${text}]}`, 'latin1').digest('hex');
    this.known.set(name, hash);
    return hash;
  }

  /** New policies have the highest ids, so this is rarely needed. */
  private sort(): void {
    if (this.isSorted) return;
    this.pairs = new Map([...this.pairs].sort(([one], [other]) => (one < other ? -1 : 1)));
    this.isSorted = true;
  }
}
