import type { JsonObject, JsonValue } from '../../../core/json/json-value';
import { BYTES, HMAC, isHashReplacement, isSecretReplacement } from '../../../core/json/replacements';
import { rememberLast } from '../patterns/remembered-readings';
import { decodedPath, spelledPath } from '../patterns/resources';
import type { EvaluationSubject } from '../patterns/subjects';
import { pathOf } from './condition-faults';

/** A value, or undefined if there is none. */
export type MaybeJson = JsonValue | undefined;

/**
 * A parameter of the request. It is a JSON Pointer (RFC 6901); `*` as one of its tokens stands for each item of a list.
 */
export interface ParameterReference {
  readonly parameter: string;
}

export const PRINCIPAL_PARTS: readonly PrincipalReference['principal'][] = ['id', 'type'];
export const RESOURCE_PARTS: readonly ResourceReference['resource'][] = ['last'];

/** The principal: of a registered person, the type is `agent` and the id that of the agent. */
export interface PrincipalReference {
  readonly principal: 'id' | 'type';
}

/** The last segment of the id of the resource, in normal form C. */
export interface ResourceReference {
  readonly resource: 'last';
}

/** A part of the request in the place of a value. */
export type ValueReference = ParameterReference | PrincipalReference | ResourceReference;

/** The parts of a request that references name. */
export interface OperandSource {
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** On whose behalf; absent or null: on nobody's. */
  readonly principal?: EvaluationSubject | null;
}

/** Matches an index of a list item according to RFC 6901: without leading zeros. */
const INDEX = /^(?:0|[1-9]\d*)$/;

/**
 * Stands for a value that may have been inside a replaced value. Like every object, it equals nothing in a comparison.
 */
export const HIDDEN: JsonObject = Object.freeze({});

/**
 * Returns the value at a path; undefined if there is none, and {@link HIDDEN} if a replacement hides whether there is
 * one.
 */
export function valueAt(path: readonly string[], from: JsonValue): MaybeJson {
  let value: MaybeJson = from;
  for (let index = 0; index < path.length; index += 1) {
    const name = path[index] ?? '';
    if (typeof value !== 'object' || value === null) return undefined;
    if (isList(value)) value = INDEX.test(name) ? value[Number(name)] : undefined;
    else if (isSecretReplacement(value)) return HIDDEN;
    else if (isHashReplacement(value)) return index === path.length - 1 ? partOfHash(value, name) : HIDDEN;
    else value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/**
 * Returns a member of an object that replaces a text by its hash: the length is known; the HMAC exists, but equals
 * nothing.
 */
function partOfHash(replacement: JsonObject, name: string): MaybeJson {
  if (name === BYTES) return replacement[BYTES];
  return name === HMAC ? replacement : HIDDEN;
}

export function isList(value: MaybeJson): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** True if a value of a condition names a part of the request. */
export function isReference(value: unknown): value is ValueReference {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads the part of a request that a reference names; undefined if the request has none. */
export function operandReader(reference: ValueReference): (request: OperandSource) => MaybeJson {
  if ('principal' in reference) {
    const isId = reference.principal === 'id';
    return ({ principal = null }) => (principal === null ? undefined : partOfPrincipal(principal, isId));
  }
  if ('resource' in reference) return ({ resourceId }) => lastSegmentOf(resourceId);
  const path = pathOf(reference.parameter);
  return ({ parameters }) => valueAt(path, parameters);
}

const lastSegmentOf = rememberLast((resourceId) => spelledPath(resourceId).split('/').at(-1) ?? '');

function partOfPrincipal(principal: EvaluationSubject, isId: boolean): string {
  if ('agentId' in principal) return isId ? principal.agentId : 'agent';
  return isId ? principal.id : principal.type;
}

/**
 * Tests a condition on the resource also for the resource once it is decoded. If only that is equal, the truth is
 * unknown: that suffices for a policy that forbids, but not for an allow.
 */
export function inEverySpelling<Request extends OperandSource, Facts>(
  condition: { readonly op: string; readonly value: unknown },
  test: (request: Request, facts: Facts) => boolean | 'unknown',
): typeof test {
  const { op, value } = condition;
  if (!('resource' in condition) && !(isReference(value) && 'resource' in value)) return test;
  const ifEqual = op === 'eq' || op === 'in';
  return (request, facts) => {
    const truth = test(request, facts);
    if (truth === ifEqual || !request.resourceId.includes('%')) return truth;
    const decodedTruth = test({ ...request, resourceId: decodedPath(request.resourceId) }, facts);
    return decodedTruth === truth ? truth : 'unknown';
  };
}
