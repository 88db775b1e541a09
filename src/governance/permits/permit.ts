import { promisify } from 'node:util';
import { sign as signData } from 'node:crypto';
import type { JsonObject } from '../../core/json/json-value';
import type { P256Key } from '../../core/values/p256-key';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import type { Execution } from '../executions/execution.entity';

/** On another thread: a signature takes as long as a large part of the rest of a request. */
const sign = promisify(signData);

/** What a permit says besides its execution. */
export interface PermitTerms {
  readonly issuer: string;
  readonly audience: string;
  /** Whole seconds since 1970: of its authorisation, and of the moment from which on it is not valid. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

type Permitted = Pick<
  Execution,
  'id' | 'agentId' | 'action' | 'resourceType' | 'resourceId' | 'parameters' | 'onBehalfOf'
>;

/** The claims of a permit: RFC 7519, with `act` as in RFC 8693 and `authorization_details` as in RFC 9396. */
export function permitClaims(
  { id, agentId, action, resourceType, resourceId, parameters, onBehalfOf }: Permitted,
  { issuer, audience, issuedAt, expiresAt }: PermitTerms,
): JsonObject {
  const asked = { actions: [action], resource_type: resourceType, identifier: resourceId };
  return {
    iss: issuer,
    aud: audience,
    sub: [agentId, action, resourceType].map(subjectPart).join(':'),
    agent: agentId,
    jti: id,
    iat: issuedAt,
    exp: expiresAt,
    ...(onBehalfOf !== null && { act: { sub: onBehalfOf.subject } }),
    authorization_details: [{ type: 'governed_action', ...asked, parameters_hash: sha256(canonicalJson(parameters)) }],
  };
}

/** A JWT with these claims, signed by ES256: RFC 7515 and RFC 7518. */
export async function signedPermit({ privateKey, listed }: P256Key, claims: JsonObject): Promise<string> {
  const signed = [{ alg: 'ES256', typ: 'JWT', kid: listed.kid }, claims].map(encoded).join('.');
  const signature = await sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function encoded(part: JsonObject): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** Percent-encoded as far as the parts can otherwise be mistaken for others. */
function subjectPart(text: string): string {
  return text.replace(/[%:]/g, (character) => (character === '%' ? '%25' : '%3A'));
}
