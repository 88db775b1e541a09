/// <reference types="node" />
import { createRemoteJWKSet, errors } from 'jose';
import { createHash, KeyObject, verify } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import { plainJson } from './plain-json.js';

/** The action that a target is about to do, and the service that has to have permitted it. */
export interface ExpectedPermit {
  /** The service, by its `PUBLIC_URL`. Its keys are fetched from there. */
  readonly issuer: string;
  /** The name of the target among the service's `PERMIT_AUDIENCES`. */
  readonly audience: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /**
   * Notes the use of a permit, and returns true if it is the first one. The notes have to be common to all instances of
   * the target, and last half a minute longer than `exp`, which is in seconds since 1970. Without this function a
   * permit can be used until it expires.
   */
  readonly seen?: (jti: string, exp: number) => boolean | Promise<boolean>;
}

/** A permit that was verified. */
export interface Permit {
  /** The id of the execution. */
  readonly jti: string;
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  /** The id of the agent. */
  readonly agent: string;
  /** Seconds since 1970. */
  readonly iat: number;
  readonly exp: number;
  /** The principal on whose behalf the agent acts. */
  readonly act?: { readonly sub: string };
  readonly authorization_details: readonly [PermittedAction];
}

/** One action, in the form of RFC 9396. */
export interface PermittedAction {
  readonly type: 'governed_action';
  readonly actions: readonly [string];
  readonly resource_type: string;
  readonly identifier: string;
  /** Hex SHA-256 of the RFC 8785 form. */
  readonly parameters_hash: string;
}

/** The token is not a permit for this. The message says what differs. */
export class PermitError extends Error {
  override readonly name = 'PermitError';
}

type KeySet = ReturnType<typeof createRemoteJWKSet>;
type Header = Readonly<Record<string, unknown>>;

/** The claims of a token that is not yet known to be a permit. */
interface Claims extends Partial<Omit<Permit, 'authorization_details'>> {
  readonly authorization_details?: readonly {
    readonly type?: string;
    readonly actions?: readonly string[];
    readonly resource_type?: string;
    readonly identifier?: string;
    readonly parameters_hash?: string;
  }[];
}

const REQUIRED = ['issuer', 'audience', 'action', 'resourceType', 'resourceId', 'parameters'] as const;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Seconds by which clocks may differ. */
const LEEWAY = 30;

/**
 * The keys of each service by its URL. They are fetched again when they are ten minutes old, or lack a key that a token
 * names.
 */
const keySets = new Map<string, KeySet>();
/** Keys in the form with which a verification takes half the time. */
const keyObjects = new WeakMap<object, KeyObject>();

/**
 * Checks that a token permits exactly the expected action, now, and returns its claims.
 * @throws PermitError if it does not; TypeError if a member of `expected` is missing; the errors of jose and `fetch` if
 *   the keys of the service cannot be fetched; the errors of `seen`
 */
export async function verifyPermit(token: string, expected: ExpectedPermit): Promise<Permit> {
  const members: Partial<ExpectedPermit> = expected;
  const missing = REQUIRED.find((name) => members[name] === undefined);
  if (missing !== undefined) throw new TypeError(`${missing} is missing: say all that has to be permitted.`);
  must(TOKEN.test(token), 'it is not a JWT');
  const signed = token.slice(0, token.lastIndexOf('.'));
  const [header = {}, claims = {}] = signed.split('.').map(parsePart);
  const key = await keyOf(expected.issuer, header);
  must(isSigned(signed, token.slice(signed.length + 1), key), 'its signature is not by a key of the service');
  requireTimes(claims, Math.floor(Date.now() / 1_000));
  requireAction(claims, expected);
  // The service signed the token, and it names an action, so it has the other members, too.
  const permit = claims as unknown as Permit;
  if (expected.seen !== undefined) must(await expected.seen(permit.jti, permit.exp), 'it was used before');
  return permit;
}

/** Finds the service's key that the token names. @throws PermitError for another algorithm or an unknown key */
async function keyOf(issuer: string, header: Header): Promise<KeyObject> {
  const { alg, typ, kid } = header;
  must(alg === 'ES256' && typ === 'JWT' && !('crit' in header), 'it is signed in another way than by ES256');
  must(typeof kid === 'string', 'it names no key');
  const publicKey = await keysOf(issuer)({ alg: 'ES256', kid: kid as string }).catch((error: unknown) => {
    throw error instanceof errors.JWKSNoMatchingKey ? permitError('its key is not one of the service') : error;
  });
  const key = keyObjects.get(publicKey) ?? KeyObject.from(publicKey);
  keyObjects.set(publicKey, key);
  return key;
}

function keysOf(issuer: string): KeySet {
  const keys = keySets.get(issuer) ?? createRemoteJWKSet(new URL('/.well-known/jwks.json', issuer));
  keySets.set(issuer, keys);
  return keys;
}

function isSigned(signed: string, text: string, key: KeyObject): boolean {
  const signature = Buffer.from(text, 'base64url');
  // Decoding ignores some bits of the last character, so several texts give one signature: only one of them is
  // accepted.
  if (signature.toString('base64url') !== text) return false;
  return verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, signature);
}

function requireTimes({ iat = NaN, exp = NaN }: Claims, now: number): void {
  must(Number.isInteger(iat) && iat <= now + LEEWAY, 'it is from the future');
  must(Number.isInteger(exp) && now < exp + LEEWAY, 'it has expired');
}

function requireAction(claims: Claims, expected: ExpectedPermit): void {
  const [details, ...more] = claims.authorization_details ?? [];
  must(claims.iss === expected.issuer, 'another service issued it');
  must(claims.aud === expected.audience, 'it is for another audience');
  must(details?.type === 'governed_action' && more.length === 0, 'it permits no single action');
  const { actions, resource_type, identifier, parameters_hash } = details ?? {};
  must(actions?.length === 1 && actions[0] === expected.action, 'it is for another action');
  must(resource_type === expected.resourceType, 'it is for another type of resource');
  must(identifier === expected.resourceId, 'it is for another resource');
  const parameters: unknown = JSON.parse(plainJson(expected.parameters));
  const hash = createHash('sha256').update(canonicalJson(parameters)).digest('hex');
  must(parameters_hash === hash, 'it is for other parameters');
}

function parsePart(part: string): Header {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Header;
  } catch {
    // Refused below.
  }
  throw permitError('it is not a JWT');
}

function must(holds: boolean, message: string): void {
  if (!holds) throw permitError(message);
}

function permitError(message: string): PermitError {
  return new PermitError(`The permit is refused: ${message}.`);
}
