import { Logger, type OnModuleDestroy } from '@nestjs/common';
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Configuration } from '../../core/config/configuration';
import { ConfigurationError } from '../../core/config/read-configuration';
import { persistentSeed } from '../../core/files/private-file';
import type { JsonValue } from '../../core/json/json-value';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import type { Database } from '../../ledger/database/database';
import { persistentFile } from '../../ledger/database/kept-file';
import { stopMisconfigured } from '../../ledger/head/fail-stop';
import type { SealValue } from './replacement';

/** Proves with which key the secrets of a database were replaced: one row. */
@Entity('secret_key_proofs')
export class SecretKeyProof {
  /** Always 1. */
  @PrimaryColumn('integer')
  readonly id!: number;

  /** HMAC of a constant, in hex. */
  @Column('text')
  readonly proof!: string;
}

const PROVEN = 'the secrets of this database were replaced with this key';
/** Number of hex digits of a proof that name its key. */
const NAME_LENGTH = 16;
/** Average milliseconds between checks whether another process has accepted another key. */
const INTERVAL_MS = 2_000;

const ACCEPTED = 'and accept it by ACCEPT_SECRET_KEY, as the start will say';

const INSERT = 'INSERT INTO "secret_key_proofs" ("id", "proof") VALUES (1, $1) ON CONFLICT ("id") DO NOTHING';
const SELECT = 'SELECT "proof" FROM "secret_key_proofs" WHERE "id" = 1';
const UPDATE = 'UPDATE "secret_key_proofs" SET "proof" = $1 WHERE "id" = 1 AND "proof" = $2';

/** Computes the replacements of recorded secrets. */
export class SecretKey implements OnModuleDestroy {
  private readonly logger = new Logger('Secrets');
  private readonly key: KeyObject;
  private checks: PeriodicTask | null = null;

  /** @param bytes 32 bytes, never to be shown */
  constructor(bytes: Buffer) {
    this.key = createSecretKey(bytes);
  }

  /**
   * Opens the configured key, or a generated one. @throws ConfigurationError if the database was written with another
   * key
   */
  static async open(this: void, configuration: Configuration, database: Database): Promise<SecretKey> {
    const file = (): string => persistentFile(configuration, database.location, 'secret-key');
    const { secretKey, acceptedSecretKey } = configuration;
    const key = new SecretKey(secretKey ?? (await persistentSeed(file(), 'secret key', ACCEPTED)));
    await key.requireSame(database, acceptedSecretKey, secretKey === null ? `the key in ${file()}` : 'its value');
    if (database.isShared) key.beginChecks(database);
    return key;
  }

  async onModuleDestroy(): Promise<void> {
    await this.checks?.stop();
  }

  /** Seals values of one agent; `agentId` is null for an agent that is not registered. */
  sealFor(agentId: string | null): SealValue {
    return (pointer, value) => this.hmac({ agentId, pointer, value });
  }

  private hmac(content: JsonValue): Buffer {
    return createHmac('sha256', this.key).update(canonicalJson(content)).digest();
  }

  /** Ends the process once another process has accepted another key: replacements made here would not be recognised. */
  private beginChecks(database: Database): void {
    const proof = this.proof();
    const check = async (): Promise<void> => {
      if (isEqual(await storedProof(database), proof)) return;
      stopMisconfigured(
        `SECRET_KEY: another process has accepted another key for the secrets in ${database.location} (ACCEPT_SECRET_KEY). Give ` +
          'this process that key, too. The process stops.',
      );
    };
    this.checks = new PeriodicTask(INTERVAL_MS, check, (error) =>
      this.logger.warn(`It is not known whether SECRET_KEY still is the accepted one: ${String(error)}`),
    );
    this.checks.begin();
  }

  private proof(): string {
    return this.hmac(PROVEN).toString('hex');
  }

  private async requireSame(database: Database, accepted: string | null, source: string): Promise<void> {
    const { sideConnection, location } = database;
    const proof = this.proof();
    await sideConnection.all(INSERT, [proof]);
    const stored = await storedProof(database);
    if (isEqual(stored, proof)) return;
    const name = proof.slice(0, NAME_LENGTH);
    if (accepted !== name) throw new ConfigurationError([anotherKeyFault(location, source, name)]);
    await sideConnection.all(UPDATE, [proof, stored]);
  }
}

async function storedProof({ sideConnection }: Database): Promise<string> {
  const [row] = await sideConnection.all<Pick<SecretKeyProof, 'proof'>>(SELECT);
  return row?.proof ?? '';
}

function isEqual(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

function anotherKeyFault(location: string, source: string, name: string): string {
  return (
    `SECRET_KEY: ${source} is not the key with which secrets in ${location} were replaced so far; put that key back. Or set ` +
    `ACCEPT_SECRET_KEY=${name} to go on with this one: then no request with secrets that waits or was rejected is recognised when it is repeated`
  );
}
