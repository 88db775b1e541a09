import { Seals } from '../../core/values/seals';
import type { JsonObject } from '../../core/json/json-value';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';

const TIME_BYTES = 8;
export const GOOD_FOR_MS = 5 * 60_000;

/**
 * Challenges for new passkeys. Nothing is kept of them: each says when it was made, sealed for one agent with a key that all
 * processes derive.
 */
export class RegistrationChallenges {
  private readonly seals: Seals;

  constructor(secret: string, previousSecrets: readonly string[]) {
    this.seals = new Seals('passkey registration', secret, previousSecrets);
  }

  async make(agentId: string, now: number): Promise<Buffer> {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeBigUInt64BE(BigInt(now));
    return Buffer.concat([time, await this.seals.of(sealed(time, agentId))]);
  }

  /** Whether it was made for the agent, at most five minutes ago. @param challenge base64url */
  async isGood(challenge: string, agentId: string, now: number): Promise<boolean> {
    const bytes = Buffer.from(challenge, 'base64url');
    const [time, seal] = [bytes.subarray(0, TIME_BYTES), bytes.subarray(TIME_BYTES)];
    if (!(await this.seals.isOf(seal, sealed(time, agentId)))) return false;
    // The clocks of processes differ a little, so a challenge from the near future is as good as one from the past.
    return Math.abs(now - Number(time.readBigUInt64BE())) <= GOOD_FOR_MS;
  }
}

function sealed(time: Buffer, agentId: string): Buffer {
  return Buffer.concat([time, Buffer.from(agentId)]);
}

/** The challenge of a signature, base64url: the hash of what is signed. */
export function challengeOf(signed: JsonObject): string {
  return Buffer.from(sha256(canonicalJson(signed)), 'hex').toString('base64url');
}
