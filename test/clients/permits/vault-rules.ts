import { createPublicKey, verify } from 'node:crypto';
import type { Parsed } from '../../support/application/send';

/** A role of the JWT method of OpenBao and Vault, as far as these rules go. */
export interface JwtRole {
  readonly role_type: string;
  readonly user_claim: string;
  readonly bound_audiences: readonly string[];
  readonly bound_subject?: string;
  readonly bound_claims: Readonly<Record<string, string | readonly string[]>>;
  readonly claim_mappings: Readonly<Record<string, string>>;
  /** Seconds; -1: none. */
  readonly expiration_leeway: number;
  readonly clock_skew_leeway: number;
}

/** The configuration of the method itself. */
export interface JwtMethod {
  readonly discovery: string;
  readonly algorithms: readonly string[];
}

/**
 * Why a login would be refused, by what the documentation of the JWT method says of a role of the type `jwt`: the
 * server itself can be installed from none of the registries that these tests use. Null: it would be let in.
 */
export async function loginFault(method: JwtMethod, role: JwtRole, token: string): Promise<string | null> {
  const document = await json(`${method.discovery.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (document.issuer !== method.discovery) return 'the issuer of the document is another one';
  const [head = '', body = '', signature = ''] = token.split('.');
  const [header, claims] = [decoded(head), decoded(body)];
  if (!method.algorithms.includes(header.alg)) return 'its algorithm is not supported';
  const { keys } = await json(new URL(new URL(document.jwks_uri).pathname, method.discovery).href);
  const key = keys.find(({ kid }: Parsed) => kid === header.kid);
  if (key === undefined) return 'its key is not known';
  const publicKey = createPublicKey({ key, format: 'jwk' });
  const signed = Buffer.from(`${head}.${body}`);
  const by = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', signed, by, Buffer.from(signature, 'base64url'))) return 'its signature is wrong';
  const now = Date.now() / 1_000;
  const leeway = Math.max(role.expiration_leeway, 0) + Math.max(role.clock_skew_leeway, 0);
  if (Number(claims.exp) + leeway < now || Number(claims.iat) - leeway > now) return 'it is over, or has not begun';
  if (claims.iss !== method.discovery) return 'iss is another one';
  if (![claims.aud].flat().some((audience) => role.bound_audiences.includes(audience))) return 'aud is not bound';
  if (role.bound_subject !== undefined && claims.sub !== role.bound_subject) return 'sub is not bound';
  for (const [path, boundValue] of Object.entries(role.bound_claims))
    if (![boundValue].flat().includes(at(claims, path))) return `${path} is not bound`;
  const needed = [role.user_claim, ...Object.keys(role.claim_mappings)];
  const missing = needed.find((path) => typeof at(claims, path) !== 'string');
  return missing === undefined ? null : `${missing} is no text`;
}

/** A claim by its name, or by a JSON Pointer. */
function at(claims: Parsed, path: string): Parsed {
  const names = path.startsWith('/') ? path.slice(1).split('/') : [path];
  return names.reduce((value, name) => value?.[name], claims);
}

function decoded(part: string): Parsed {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}

async function json(url: string): Promise<Parsed> {
  return (await fetch(url)).json();
}
