import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { RecordReader } from '../../ledger/reading/record-reader';
import { PASSKEY } from './passkey.entity';
import { partyOf } from './relying-party';

const CHUNK = 1_000;

/** Finds who could sign now: who has a passkey that was made for the host of today's `PUBLIC_URL`. */
@Injectable()
export class PasskeyHolders {
  private readonly rpId: string | null;

  constructor(
    private readonly records: RecordReader,
    { publicUrl }: Configuration,
  ) {
    this.rpId = partyOf(publicUrl)?.id ?? null;
  }

  async among(agentIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { rpId } = this;
    if (rpId === null || agentIds.length === 0) return new Set();
    const keys = agentIds.map((agentId) => [agentId, rpId]);
    const passkeys = await this.records.allAmong(PASSKEY, ['agentId', 'rpId'], keys);
    return new Set(passkeys.map(({ agentId }) => agentId));
  }

  /** The ids of all of them, in chunks. */
  async *all(): AsyncGenerator<ReadonlySet<string>> {
    if (this.rpId === null) return;
    const conditions = [{ column: 'rpId', comparison: 'equals', value: this.rpId }] as const;
    for await (const passkeys of this.records.chunks(PASSKEY, conditions, CHUNK))
      yield new Set(passkeys.map(({ agentId }) => agentId));
  }
}
