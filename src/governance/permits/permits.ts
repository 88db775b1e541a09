import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { promisify } from 'node:util';
import { sign as signData } from 'node:crypto';
import { Configuration } from '../../core/config/configuration';
import { invalidField } from '../../core/errors/domain-error';
import { persistentSeed } from '../../core/files/private-file';
import { type ListedKey, p256Key, type P256Key } from '../../core/values/p256-key';
import { Database } from '../../ledger/database/database';
import { persistentFile } from '../../ledger/database/kept-file';
import type { Execution } from '../executions/execution.entity';
import type { JsonObject } from '../../core/json/json-value';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import { Field } from '../../http/validation/fields';
import { member, objectShape, textShape } from '../../http/validation/shapes';

/** The request for a permit, with its audience. */
export interface PermitRequest {
  readonly audience: string;
}

const PERMIT = objectShape({
  audience: member(textShape({ max: 200 }), { description: 'One of PERMIT_AUDIENCES.', example: 'bank' }),
});

export function PermitField(): PropertyDecorator {
  const description =
    'Asks for a permit: a token that shows the audience what was authorised. Needs `PERMIT_AUDIENCES` and `PUBLIC_URL`.';
  return Field(PERMIT, { optional: true, description });
}

/** Seconds by which clocks may differ: permits are verified with the same. */
const LEEWAY = 30;

/** Makes permits: tokens that show another system what was authorised, so that it need not believe the agent. */
@Injectable()
export class Permits implements OnModuleInit {
  private issuing: { readonly issuer: string; readonly key: P256Key } | null = null;

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  async onModuleInit(): Promise<void> {
    const { permitAudiences, publicUrl, permitKey } = this.configuration;
    if (permitAudiences.length === 0) return;
    if (publicUrl === null) {
      new Logger('Permits').warn('PERMIT_AUDIENCES is set but PUBLIC_URL is not, so no permits are made.');
      return;
    }
    const file = (): string => persistentFile(this.configuration, this.database.location, 'permit-key');
    const key = p256Key(permitKey ?? (await persistentSeed(file(), 'permit key')));
    if (key === undefined) throw new Error(`The permit key in ${file()} is not a P-256 private key. Remove the file.`);
    this.issuing = { issuer: publicUrl, key };
  }

  /** Null if no permits are made. */
  get issuer(): string | null {
    return this.issuing?.issuer ?? null;
  }

  /** The public keys by which permits are verified, the one that signs first. */
  get keys(): readonly ListedKey[] {
    return this.issuing === null ? [] : [this.issuing.key.jwk, ...this.configuration.previousPermitKeys];
  }

  /** @throws VALIDATION_ERROR for an audience for which no permits are made */
  requireAudience(permit: PermitRequest | undefined): void {
    if (permit === undefined) return;
    const { permitAudiences } = this.configuration;
    if (this.issuing === null) {
      const missing = permitAudiences.length === 0 ? 'PERMIT_AUDIENCES' : 'PUBLIC_URL';
      throw invalidField('permit', `must be left out: the service makes no permits without ${missing}`);
    }
    if (!permitAudiences.includes(permit.audience))
      throw invalidField('permit', `must have an audience among PERMIT_AUDIENCES: ${permitAudiences.join(', ')}`);
  }

  /**
   * Returns the permit for an execution, made from its record, so that a repeated request gets equal claims. Null if
   * none was requested, it would have expired or be from the future, a handler of the service carries the action out,
   * or the action was only observed.
   * @param authorisedAt ISO 8601
   */
  async issue(execution: Execution, permit: PermitRequest | undefined, authorisedAt: string): Promise<string | null> {
    if (permit === undefined || this.issuing === null || !isPermitted(execution)) return null;
    const { issuer, key } = this.issuing;
    // Whole seconds since 1970.
    const issuedAt = Math.floor(Date.parse(authorisedAt) / 1_000);
    const expiresAt = issuedAt + this.configuration.permitTtl / 1_000;
    // Ledger time stands still while it is ahead of the clock: the permit would be good long after the authorisation.
    const now = Date.now() / 1_000;
    if (now >= expiresAt || now + LEEWAY < issuedAt) return null;
    const { id, agentId, action, resourceType, resourceId, parameters, onBehalfOf } = execution;
    // `%` and `:` are encoded, so that nobody can mistake a part for two.
    const parts = [agentId, action, resourceType].map((part) => part.replaceAll('%', '%25').replaceAll(':', '%3A'));
    const authorisation = { actions: [action], resource_type: resourceType, identifier: resourceId };
    // RFC 7519, with `act` as in RFC 8693 and `authorization_details` as in RFC 9396.
    return signedPermit(key, {
      iss: issuer,
      aud: permit.audience,
      sub: parts.join(':'),
      agent: agentId,
      jti: id,
      iat: issuedAt,
      exp: expiresAt,
      ...(onBehalfOf !== null && { act: { sub: onBehalfOf.subject } }),
      authorization_details: [
        { type: 'governed_action', ...authorisation, parameters_hash: sha256(canonicalJson(parameters)) },
      ],
    });
  }
}

/**
 * Refuses a permit for a request with secrets: it has a hash of the parameters, which no other system can compute from
 * replaced secrets.
 * @throws VALIDATION_ERROR if a permit is requested
 */
export function requireNoPermit(permit: PermitRequest | undefined): void {
  if (permit === undefined) return;
  throw invalidField('permit', 'must be left out: the parameters have secrets, which the service does not keep');
}

/** Returns the audience that the entry of an authorisation records. */
export function audienceOf(authorised: Authorised, permit: PermitRequest | undefined): { readonly audience?: string } {
  return permit !== undefined && isPermitted(authorised) ? { audience: permit.audience } : {};
}

type Authorised = Pick<Execution, 'outcome' | 'observed'>;

/** True if a permit can be issued: an agent carries the action out, and policies or people have allowed it. */
function isPermitted({ outcome, observed }: Authorised): boolean {
  return outcome === 'authorized' && !observed;
}

/** Signs on another thread, because a signature takes as long as a large part of the rest of a request. */
const sign = promisify(signData);

/** A JWT with these claims, signed by ES256: RFC 7515 and RFC 7518. */
async function signedPermit({ privateKey, jwk }: P256Key, claims: JsonObject): Promise<string> {
  const signed = [{ alg: 'ES256', typ: 'JWT', kid: jwk.kid }, claims].map(encoded).join('.');
  const signature = await sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function encoded(part: JsonObject): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
