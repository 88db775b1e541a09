import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import { Configuration } from '../../core/config/configuration';
import { RecordReader } from '../../ledger/reading/record-reader';
import { PASSKEY } from './passkey.entity';
import { conflict } from '../../core/errors/domain-error';

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

/** The relying party for which passkeys are made: browsers compare it with the page that asks for one. */
export interface RelyingParty {
  /** A host. */
  readonly id: string;
  readonly origin: string;
}

/** Null without a public URL, and with one of which WebAuthn makes no relying party. */
export function partyOf(publicUrl: string | null): RelyingParty | null {
  if (publicUrl === null) return null;
  const { origin, hostname } = new URL(publicUrl);
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null;
}

/** @throws CONFLICT where there is none. */
export function relyingParty(publicUrl: string | null): RelyingParty {
  const party = partyOf(publicUrl);
  if (party !== null) return party;
  throw conflict(
    publicUrl === null
      ? 'Passkeys need PUBLIC_URL, whose host they are made for; it is not set.'
      : 'Passkeys are made for a host name, and the host of PUBLIC_URL is an IP address.',
  );
}
