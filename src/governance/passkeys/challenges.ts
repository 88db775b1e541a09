import { createHmac, timingSafeEqual } from 'node:crypto';
import { derivedKey, KEY_BYTES, type LazyKey } from '../../core/values/derived-key';
import type { JsonObject } from '../../core/json/json-value';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';

const PURPOSE = 'passkey registration';
const TIME_BYTES = 8;
export const GOOD_FOR_MS = 5 * 60_000;

/**
 * Challenges for new passkeys. Nothing is kept of them: each says when it was made, sealed for one agent with a key that all
 * processes derive.
 */
export class RegistrationChallenges {
  private readonly sealingKey: LazyKey;
  private readonly acceptedKeys: readonly LazyKey[];

  /** Those that were sealed with a previous secret are accepted as well. */
  constructor(secret: string, previousSecrets: readonly string[]) {
    this.sealingKey = derivedKey(secret, PURPOSE);
    this.acceptedKeys = [this.sealingKey, ...previousSecrets.map((previous) => derivedKey(previous, PURPOSE))];
  }

  async make(agentId: string, now: number): Promise<Buffer> {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeBigUInt64BE(BigInt(now));
    return Buffer.concat([time, seal(await this.sealingKey(), time, agentId)]);
  }

  /** Whether it was made for the agent, at most five minutes ago. @param challenge base64url */
  async isGood(challenge: string, agentId: string, now: number): Promise<boolean> {
    const bytes = Buffer.from(challenge, 'base64url');
    if (bytes.length !== TIME_BYTES + KEY_BYTES) return false;
    const time = bytes.subarray(0, TIME_BYTES);
    // The clocks of processes differ a little, so a challenge from the near future is as good as one from the past.
    if (Math.abs(now - Number(time.readBigUInt64BE())) > GOOD_FOR_MS) return false;
    for (const key of this.acceptedKeys)
      if (timingSafeEqual(bytes.subarray(TIME_BYTES), seal(await key(), time, agentId))) return true;
    return false;
  }
}

function seal(key: Buffer, time: Buffer, agentId: string): Buffer {
  return createHmac('sha256', key).update(time).update(agentId).digest();
}

/** The challenge of a signature, base64url: the hash of what is signed. */
export function challengeOf(signed: JsonObject): string {
  return Buffer.from(sha256(canonicalJson(signed)), 'hex').toString('base64url');
}
