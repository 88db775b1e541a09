import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { createRequire } from 'node:module';
import type * as Protocol from '@simplewebauthn/server';
import type * as Helpers from '@simplewebauthn/server/helpers';
import type { JsonObject } from '../../core/json/json-value';
import type { Agent } from '../agents/agent.entity';
import type { Passkey } from './passkey.entity';
import { Seals } from '../../core/values/seals';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import { isIP } from 'node:net';
import { conflict, requirePresent } from '../../core/errors/domain-error';

/** COSE numbers of ES256, EdDSA and RS256. */
const ALGORITHMS = [-7, -8, -257];
const MIN_RSA_BITS = 2048;
/** Labels of COSE keys (RFC 9052, RFC 8230). */
const LABELS = [1, 3, -1, -2, -3] as const;
const [, ALGORITHM, FIRST, SECOND, THIRD] = LABELS;

const load = createRequire(__filename);

/**
 * Loads the library, which only services with passkeys need. That takes a fifth of a second, so it happens before a
 * command, whose time is short.
 */
export function loadProtocol(): { readonly protocol: typeof Protocol; readonly helpers: typeof Helpers } {
  const helpers = load('@simplewebauthn/server/helpers') as typeof Helpers;
  return { protocol: load('@simplewebauthn/server') as typeof Protocol, helpers };
}

/** The stored part of a signature, which proves it. Bytes are base64url. */
export interface PasskeySignature {
  readonly passkeyId: string;
  readonly authenticatorData: string;
  readonly clientDataJSON: string;
  readonly signature: string;
}

/** Returns the options with which a browser makes a passkey: PublicKeyCredentialCreationOptionsJSON. */
export async function creationOptions(
  { id, name }: Pick<Agent, 'id' | 'name'>,
  party: RelyingParty,
  { challenge, held, timeout }: { challenge: Buffer; held: readonly Passkey[]; timeout: number },
): Promise<Protocol.PublicKeyCredentialCreationOptionsJSON> {
  return loadProtocol().protocol.generateRegistrationOptions({
    rpName: party.id,
    rpID: party.id,
    userName: name,
    userDisplayName: name,
    userID: new TextEncoder().encode(id),
    challenge: Uint8Array.from(challenge),
    timeout,
    attestationType: 'none',
    excludeCredentials: held.map(({ credentialId }) => ({ id: credentialId })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** Returns the passkey that a browser has made; null if it cannot be accepted. */
export async function madeCredential(
  credential: JsonObject,
  party: RelyingParty,
  isExpected: (challenge: string) => Promise<boolean>,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey'> | null> {
  return unlessFaulty(async () => {
    const response = credential as unknown as Protocol.RegistrationResponseJSON;
    if (!isUnattested(response)) return null;
    const { verified, registrationInfo } = await loadProtocol().protocol.verifyRegistrationResponse({
      response,
      expectedChallenge: isExpected,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified || registrationInfo === undefined) return null;
    const { id: credentialId, publicKey } = registrationInfo.credential;
    return { credentialId, publicKey: spkiOf(publicKey) };
  });
}

/** Verifies an assertion for this challenge; null if no passkey made it. */
export async function keptSignature(
  assertion: JsonObject,
  held: readonly Passkey[],
  party: RelyingParty,
  challenge: string,
): Promise<PasskeySignature | null> {
  const passkey = held.find(({ credentialId, rpId }) => credentialId === assertion['id'] && rpId === party.id);
  if (passkey === undefined) return null;
  return unlessFaulty(async () => {
    const response = assertion as unknown as Protocol.AuthenticationResponseJSON;
    const { authenticatorData, clientDataJSON, signature } = response.response;
    // Other decoders might decode such texts differently.
    if (![authenticatorData, clientDataJSON, signature].every(isBase64Url)) return null;
    const { verified } = await loadProtocol().protocol.verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      // The counter 0 is compared with nothing, because each challenge is valid only once.
      credential: { id: passkey.credentialId, publicKey: coseOf(passkey.publicKey), counter: 0 },
    });
    const passkeySignature = { passkeyId: passkey.id, authenticatorData, clientDataJSON, signature };
    return verified && hasOnlySpelling(passkeySignature, passkey) ? passkeySignature : null;
  });
}

/**
 * True if the signature is in the only spelling of its algorithm: the library also reads other spellings of DER, with
 * which other verifiers find no signature.
 */
function hasOnlySpelling(
  { authenticatorData, clientDataJSON, signature }: PasskeySignature,
  { publicKey }: Pick<Passkey, 'publicKey'>,
): boolean {
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
  const key = createPublicKey({ key: bytes(publicKey), format: 'der', type: 'spki' });
  const clientHash = createHash('sha256').update(bytes(clientDataJSON)).digest();
  const signed = Buffer.concat([bytes(authenticatorData), clientHash]);
  return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', signed, key, bytes(signature));
}

/** Returns null if the library throws, as it does for all faults of a browser's response. */
async function unlessFaulty<Result>(check: () => Promise<Result | null>): Promise<Result | null> {
  try {
    return await check();
  } catch {
    return null;
  }
}

/**
 * True for the attestation `none`, the only one accepted: for others the library would fetch URLs from their
 * certificates.
 */
function isUnattested({ response }: Protocol.RegistrationResponseJSON): boolean {
  const { decodeAttestationObject, isoBase64URL } = loadProtocol().helpers;
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const format = attestation.get('fmt');
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
}

function isBase64Url(text: unknown): text is string {
  return typeof text === 'string' && Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** @throws Error for a key of another kind, or a weak one */
function spkiOf(cose: Uint8Array): string {
  const { isoCBOR } = loadProtocol().helpers;
  const members = isoCBOR.decodeFirst<Map<number, number | Uint8Array>>(Uint8Array.from(cose));
  const bytes = (label: number): string => Buffer.from(members.get(label) as Uint8Array).toString('base64url');
  const key = createPublicKey({ key: jwkOf(members.get(ALGORITHM), bytes), format: 'jwk' });
  const { modulusLength = MIN_RSA_BITS } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_RSA_BITS) throw new Error('The key is too short.');
  return key.export({ type: 'spki', format: 'der' }).toString('base64url');
}

function jwkOf(algorithm: unknown, bytes: (label: number) => string): JsonWebKey {
  if (algorithm === -7) return { kty: 'EC', crv: 'P-256', x: bytes(SECOND), y: bytes(THIRD) };
  if (algorithm === -8) return { kty: 'OKP', crv: 'Ed25519', x: bytes(SECOND) };
  return { kty: 'RSA', n: bytes(FIRST), e: bytes(SECOND) };
}

/** Returns a key in the form that the library accepts. */
function coseOf(spki: string): Uint8Array<ArrayBuffer> {
  const key = createPublicKey({ key: Buffer.from(spki, 'base64url'), format: 'der', type: 'spki' });
  const { kty, x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64url'));
  const byType: Readonly<Record<string, readonly (number | Uint8Array)[]>> = {
    EC: [2, -7, 1, bytes(x), bytes(y)],
    OKP: [1, -8, 6, bytes(x)],
    RSA: [3, -257, bytes(n), bytes(e)],
  };
  const values = requirePresent(byType[kty ?? ''], 'type of a key that was accepted');
  const members = values.map((value, index): [number, number | Uint8Array] => [LABELS[index] ?? 0, value]);
  return Uint8Array.from(loadProtocol().helpers.isoCBOR.encode(new Map(members)));
}

/** Bytes of a time in milliseconds, and of a sequence. */
const NUMBER_BYTES = 8;
export const GOOD_FOR_MS = 5 * 60_000;

/**
 * Challenges for new passkeys. They are not stored: each contains its time and the sequence of the last entry at that
 * time, sealed for one agent with a key that all processes derive.
 */
export class RegistrationChallenges {
  private readonly seals: Seals;

  constructor(secret: string, previousSecrets: readonly string[]) {
    this.seals = new Seals('passkey registration', secret, previousSecrets);
  }

  async make(agentId: string, now: number, sequence: number): Promise<Buffer> {
    const moment = Buffer.alloc(2 * NUMBER_BYTES);
    moment.writeBigUInt64BE(BigInt(now));
    moment.writeBigUInt64BE(BigInt(sequence), NUMBER_BYTES);
    return Buffer.concat([moment, await this.seals.seal(sealed(moment, agentId))]);
  }

  /**
   * Returns the sequence of a challenge that was made for the agent within the last five minutes; null for any other.
   * @param challenge base64url
   */
  async sequenceOf(challenge: string, agentId: string, now: number): Promise<number | null> {
    const bytes = Buffer.from(challenge, 'base64url');
    const [moment, seal] = [bytes.subarray(0, 2 * NUMBER_BYTES), bytes.subarray(2 * NUMBER_BYTES)];
    if (!(await this.seals.verify(seal, sealed(moment, agentId)))) return null;
    // The clocks of processes differ a little, so a challenge from the near future is accepted as well.
    if (Math.abs(now - Number(moment.readBigUInt64BE())) > GOOD_FOR_MS) return null;
    return Number(moment.readBigUInt64BE(NUMBER_BYTES));
  }
}

function sealed(moment: Buffer, agentId: string): Buffer {
  return Buffer.concat([moment, Buffer.from(agentId)]);
}

/** Returns the challenge of a signature: the hash of the signed content, in base64url. */
export function challengeOf(signed: JsonObject): string {
  return Buffer.from(sha256(canonicalJson(signed)), 'hex').toString('base64url');
}

/** The relying party of passkeys; browsers compare it with the page that requests a signature. */
export interface RelyingParty {
  /** A host. */
  readonly id: string;
  readonly origin: string;
}

/** Returns the relying party; null without a public URL, or if its host cannot be one. */
export function partyOf(publicUrl: string | null): RelyingParty | null {
  if (publicUrl === null) return null;
  const { origin, hostname } = new URL(publicUrl);
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null;
}

/** @throws CONFLICT if there is none */
export function relyingParty(publicUrl: string | null): RelyingParty {
  const party = partyOf(publicUrl);
  if (party !== null) return party;
  throw conflict(
    publicUrl === null
      ? 'Passkeys need PUBLIC_URL, whose host they are made for; it is not set.'
      : 'Passkeys are made for a host name, and the host of PUBLIC_URL is an IP address.',
  );
}
