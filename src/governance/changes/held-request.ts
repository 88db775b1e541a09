import { invalidField } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import type { Caller } from '../../ledger/kinds/caller';
import { UNSEEN } from '../../core/values/printable-text';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import { BREAK_GLASS_HEADER, CHANGE_HEADER, type HeldInput, type SecondPersonRule } from '../../http/request/routes';
import type { ServiceRequest } from '../../http/request/service-request';

/** A request that may need a second person. */
export interface HeldRequest {
  readonly rule: SecondPersonRule;
  readonly input: HeldInput;
  readonly method: string;
  readonly path: string;
  readonly bodyHash: string;
  /** Bytes of the RFC 8785 form of the body. */
  readonly bodyBytes: number;
  /** Id of the decision that should have approved the request; null if it names none. */
  readonly changeId: string | null;
  /** Reason why the request cannot wait for a second person; null if it can. */
  readonly emergency: string | null;
}

const DECISION_ID = /^dec_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const MIN_REASON = 10;
const MAX_REASON = 500;
const CONTROL_CHARACTERS = /\p{Cc}/u;

/** @throws VALIDATION_ERROR for a malformed header */
export function heldRequest(request: ServiceRequest, rule: SecondPersonRule): HeldRequest {
  const { method, path, params, sent, headers } = request;
  const body = sent.body as JsonObject;
  const canonical = canonicalJson(body);
  const changeId = headerOf(headers[CHANGE_HEADER.toLowerCase()]);
  const emergency = headerOf(headers[BREAK_GLASS_HEADER.toLowerCase()]);
  if (changeId !== null && !DECISION_ID.test(changeId))
    throw invalidField(`header.${CHANGE_HEADER}`, 'must be the id of one decision, such as dec_…');
  if (changeId !== null && emergency !== null)
    throw invalidField(`header.${BREAK_GLASS_HEADER}`, `must be left out next to ${CHANGE_HEADER}`);
  if (emergency !== null && rule.canWait === true)
    throw invalidField(
      `header.${BREAK_GLASS_HEADER}`,
      'must be left out: this change waits even in an emergency, because it affects who is told of one',
    );
  return {
    rule,
    input: { params: params as HeldInput['params'], body },
    method,
    path: path.replace(/\/+$/, ''),
    bodyHash: sha256(canonical),
    bodyBytes: Buffer.byteLength(canonical),
    changeId,
    emergency: emergency === null ? null : reasonIn(emergency),
  };
}

/**
 * Returns a hash of the request and its caller. The subject of a token is a different caller with each of its agents.
 */
export function requestHashOf({ method, path, bodyHash }: HeldRequest, { actor, agentId }: Caller): string {
  return sha256(canonicalJson([actor.type, actor.id, agentId, method, path, bodyHash]));
}

function headerOf(header: string | string[] | undefined): string | null {
  return header === undefined ? null : String(header);
}

function reasonIn(header: string): string {
  const reason = decoded(header)?.trim() ?? '';
  const seen = Array.from(reason.replace(UNSEEN, '')).length;
  if (seen >= MIN_REASON && Array.from(reason).length <= MAX_REASON && !CONTROL_CHARACTERS.test(reason)) return reason;
  throw invalidField(
    `header.${BREAK_GLASS_HEADER}`,
    `must be a reason of ${MIN_REASON} to ${MAX_REASON} characters that can be seen, percent-encoded as UTF-8, without control characters`,
  );
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
