import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { Configuration } from '../../core/config/configuration';
import {
  callerRefused,
  conflict,
  requireFound,
  invalidField,
  permissionDenied,
  scopeMissing,
} from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import type { LedgerTransaction, ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import { byId } from '../../ledger/kinds/lookup';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Agent } from '../agents/agent.entity';
import { agentFor, findNamedAgent } from '../agents/find-agent';
import {
  challengeOf,
  GOOD_FOR_MS,
  RegistrationChallenges,
  creationOptions,
  keptSignature,
  loadProtocol,
  madeCredential,
  partyOf,
  type RelyingParty,
  relyingParty,
} from './webauthn';
import type { RegisterPasskeyRequest } from './dto/passkey.dto';
import { PASSKEY, PASSKEY_REMOVED, type Passkey } from './passkey.entity';

/** Most passkeys of one person for one host. */
const MAX_PASSKEYS = 10;

/**
 * Registers and removes passkeys. The first one needs only the person's key; each further one takes a signature by an
 * existing passkey. Passkeys count for the host of today's `PUBLIC_URL`, because browsers use no others.
 */
@Injectable()
export class PasskeysService {
  private readonly challenges: RegistrationChallenges;
  private readonly removalsSql: string;

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
    { dialect }: Database,
  ) {
    const { apiKey, apiKeyPrevious } = configuration;
    this.removalsSql = removalsSql(dialect);
    this.challenges = new RegistrationChallenges(apiKey, apiKeyPrevious === null ? [] : [apiKeyPrevious]);
  }

  /** @throws NOT_FOUND; PERMISSION_DENIED for others; CONFLICT for a machine, or if there is no host */
  async options(caller: Caller, idOrName: string): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const person = await this.personThatCalls(caller, idOrName);
    const party = relyingParty(this.configuration.publicUrl);
    const { clockTime, head } = this.ledger;
    const challenge = await this.challenges.make(person.id, clockTime.getTime(), head.sequence);
    const held = await this.records.allAmong(PASSKEY, ['agentId', 'rpId'], [[person.id, party.id]]);
    return creationOptions(person, party, { challenge, held, timeout: GOOD_FOR_MS });
  }

  /**
   * @throws as `options`; VALIDATION_ERROR for a wrong credential; CONFLICT for too many, or a repeated one;
   * PERMISSION_DENIED for a missing or wrong signature
   */
  async register(caller: Caller, idOrName: string, request: RegisterPasskeyRequest): Promise<Passkey> {
    const { credential, name } = request;
    const signature = request.signature ?? null;
    const { id: agentId } = await this.personThatCalls(caller, idOrName);
    const party = relyingParty(this.configuration.publicUrl);
    const now = this.ledger.clockTime.getTime();
    const options = { sequence: Infinity };
    const isExpected = async (challenge: string): Promise<boolean> => {
      const sequence = await this.challenges.sequenceOf(challenge, agentId, now);
      options.sequence = sequence ?? Infinity;
      return sequence !== null;
    };
    const made = await madeCredential(credential, party, isExpected);
    return this.ledger.write(caller, async (transaction) => {
      // Checked only here: a request repeated with its `Idempotency-Key` gets its first response even if the challenge
      // is too old.
      if (made === null)
        throw invalidField(
          'credential',
          'must be a credential that was just made by the options, for this person and this service',
        );
      // Otherwise the credential, and the signature for it, could bring a removed passkey back.
      if (await this.hasRemovedSince(transaction, agentId, options.sequence))
        throw conflict('This person has removed a passkey since the options were made. Request new ones.');
      const held = await usablePasskeys(transaction, agentId, party);
      if (held.length >= MAX_PASSKEYS)
        throw conflict(`A person has at most ${MAX_PASSKEYS} passkeys for a host. Remove one first.`);
      const { credentialId, publicKey } = made;
      // A key of two people would sign as both.
      for (const values of [{ credentialId }, { publicKey }])
        if ((await transaction.findAll(PASSKEY, values)).length > 0)
          throw conflict('This passkey is registered already.');
      if (held.length > 0 || signature !== null)
        await this.requireSigned(held, signature, { agentId, credentialId, verdict: 'register' });
      const id = transaction.newId(PASSKEY);
      const passkey = { id, agentId, name, ...made, rpId: party.id, createdAt: transaction.now };
      return transaction.insert(PASSKEY, passkey, { action: 'passkey.registered', agentId });
    });
  }

  /**
   * Removes a passkey, for the person with a signature, or for an admin. @returns the removed passkey @throws as
   * `register` for the signature
   */
  async remove(caller: Caller, idOrName: string, passkeyId: string, signature: JsonObject | null): Promise<Passkey> {
    const { id: agentId } = await this.person(caller, idOrName, (id) => {
      if (caller.agentId !== id && !caller.effectiveScopes.has('admin')) throw callerRefused('not_this_agent');
    });
    loadProtocol();
    return this.ledger.withLookups(byId(PASSKEY, passkeyId)).write(caller, async (transaction) => {
      const passkey = requireFound(await ownedBy(transaction, agentId, passkeyId), 'passkey');
      if (caller.agentId === agentId || signature !== null) {
        const party = relyingParty(this.configuration.publicUrl);
        const held = await usablePasskeys(transaction, agentId, party);
        if (held.length === 0 && signature === null)
          throw permissionDenied(
            'signature_required',
            `A removal is signed, and this person has no passkey for the host "${party.id}", of PUBLIC_URL. ` +
              'Register one first, or ask an admin to remove this one.',
          );
        await this.requireSigned(held, signature, { agentId, passkeyId, verdict: 'remove' });
      }
      transaction.remove(PASSKEY, passkey, { action: PASSKEY_REMOVED, agentId });
      return passkey;
    });
  }

  /**
   * Returns the id of the person whose passkeys a caller may list. @throws NOT_FOUND; PERMISSION_DENIED; CONFLICT for a
   * machine
   */
  async listed(caller: Caller, idOrName: string): Promise<string> {
    const person = await this.person(caller, idOrName, (id) => {
      if (caller.agentId !== id && !caller.effectiveScopes.has('read')) throw scopeMissing(['read']);
    });
    return person.id;
  }

  /** @throws as `listed`; NOT_FOUND for the passkey of somebody else */
  async get(caller: Caller, idOrName: string, passkeyId: string): Promise<Passkey> {
    return requireFound(await ownedBy(this.records, await this.listed(caller, idOrName), passkeyId), 'passkey');
  }

  private async hasRemovedSince(
    transaction: Pick<ServiceTransaction, 'runQueries'>,
    agentId: string,
    sequence: number,
  ): Promise<boolean> {
    const sql = this.removalsSql;
    const dependsOn = [{ kind: PASSKEY, values: { agentId } }];
    const [removals] = await transaction.runQueries([
      { name: 'passkey removals', sql, key: [agentId, sequence], dependsOn },
    ]);
    return removals?.length !== 0;
  }

  private personThatCalls(caller: Caller, idOrName: string): Promise<Agent> {
    return this.person(caller, idOrName, (id) => {
      if (caller.agentId !== id) throw callerRefused('not_this_agent');
    });
  }

  /** Reads the person outside the command, because the kind of an agent never changes. */
  private async person(caller: Caller, idOrName: string, requireMay: (id: string | undefined) => void): Promise<Agent> {
    const agent = agentFor(caller, await findNamedAgent(caller, this.records, idOrName), requireMay);
    if (agent.kind !== 'human') throw conflict(`The agent "${agent.name}" is a machine; only people have passkeys.`);
    return agent;
  }

  private async requireSigned(
    held: readonly Passkey[],
    signature: JsonObject | null,
    signed: JsonObject,
  ): Promise<void> {
    if (signature === null)
      throw permissionDenied(
        'signature_required',
        'A passkey that this person already has must sign the registration of another one, and a removal.',
      );
    const storedSignature = await keptSignature(
      signature,
      held,
      relyingParty(this.configuration.publicUrl),
      challengeOf(signed),
    );
    if (storedSignature === null)
      throw permissionDenied(
        'signature_invalid',
        'The signature was not made by a passkey that this person has, for exactly this and for this service.',
      );
  }
}

/** Selects a row if a passkey of the agent was removed after the sequence. */
function removalsSql(dialect: Dialect): string {
  const place = dialect.jsonAt(0, { name: 'place', type: 'integer' });
  const agentId = dialect.jsonAt(1, { name: 'agentId', type: 'text' });
  const sequence = dialect.jsonAt(2, { name: 'sequence', type: 'integer' });
  const removal =
    `SELECT 1 FROM "ledger_entries" WHERE "agentId" = ${agentId} AND "action" = '${PASSKEY_REMOVED}' ` +
    `AND "sequence" > ${sequence}`;
  return `SELECT ${place} AS "place" FROM ${dialect.jsonElements('$1')} WHERE EXISTS (${removal})`;
}

/** Returns the passkeys of a person that browsers can use at today's `PUBLIC_URL`. */
async function usablePasskeys(
  transaction: LedgerTransaction,
  agentId: string,
  party: RelyingParty,
): Promise<readonly Passkey[]> {
  const passkeys = await transaction.findAll(PASSKEY, { agentId });
  return passkeys.filter(({ rpId }) => rpId === party.id);
}

async function ownedBy(
  records: RecordReader | LedgerTransaction,
  agentId: string,
  id: string,
): Promise<Passkey | undefined> {
  const passkey = await records.find(PASSKEY, id);
  return passkey?.agentId === agentId ? passkey : undefined;
}

/** Number of passkeys that are read at a time. */
const CHUNK_SIZE = 1_000;

/** Finds the people who could sign now, with a passkey for the host of today's `PUBLIC_URL`. */
@Injectable()
export class PasskeyHolders implements OnApplicationBootstrap {
  private readonly logger = new Logger('Passkeys');
  private readonly rpId: string | null;

  constructor(
    private readonly records: RecordReader,
    { publicUrl }: Configuration,
  ) {
    this.rpId = partyOf(publicUrl)?.id ?? null;
  }

  /** Warns of passkeys that were made for another host. */
  async onApplicationBootstrap(): Promise<void> {
    let [total, unusable] = [0, 0];
    for await (const passkeys of this.records.chunks(PASSKEY, [], CHUNK_SIZE)) {
      total += passkeys.length;
      unusable += passkeys.filter(({ rpId }) => rpId !== this.rpId).length;
    }
    if (unusable === 0) return;
    const host = this.rpId === null ? 'which has no host name now' : `which is "${this.rpId}" now`;
    this.logger.warn(
      `${unusable} of ${total} passkeys were made for another host than that of PUBLIC_URL, ${host}: they cannot sign. ` +
        'Their owners can register new ones by their keys, as if these were their first.',
    );
  }

  async among(agentIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { rpId } = this;
    if (rpId === null || agentIds.length === 0) return new Set();
    const keys = agentIds.map((agentId) => [agentId, rpId]);
    const passkeys = await this.records.allAmong(PASSKEY, ['agentId', 'rpId'], keys);
    return new Set(passkeys.map(({ agentId }) => agentId));
  }

  /** Yields the ids of all people who could sign now, in chunks. */
  async *all(): AsyncGenerator<ReadonlySet<string>> {
    if (this.rpId === null) return;
    const conditions = [{ column: 'rpId', comparison: 'equals', value: this.rpId }] as const;
    for await (const passkeys of this.records.chunks(PASSKEY, conditions, CHUNK_SIZE))
      yield new Set(passkeys.map(({ agentId }) => agentId));
  }
}
