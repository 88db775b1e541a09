import type { AskedPermission } from '../evaluation/asked-permission';
import { ACTION, RESOURCE_ID, RESOURCE_TYPE } from '../evaluation/question-faults';
import type { FieldFault } from '../errors/domain-error';
import { textFault } from '../http/validation/value-rules';
import type { JsonObject, JsonValue } from '../json/json-value';
import type { OtherSubject } from '../policies/patterns/subject';
import { labelFault } from '../shared/label-fault';
import type { Slices } from '../shared/slices';

/** Why an evaluation is refused regardless of policies. */
export type InvalidReason = 'subject_invalid' | 'resource_invalid';

/** An evaluation converted to our terms. */
export type ReadEvaluation =
  { readonly question: AskedPermission } | { readonly invalid: InvalidReason; readonly who: AskedPermission['who'] };

/** One part of an evaluation, converted; its value is null if it has faults. */
interface ReadPart<Value> {
  /** Members that are missing, or not of the type that the standard requires. */
  readonly faults: readonly FieldFault[];
  readonly value: Value | null;
}

/** What the standard calls an access evaluation, as far as we read it; other members are ignored. */
export interface EvaluationParts {
  /** Whoever no policy can refer to is invalid. */
  readonly subject: ReadPart<{ readonly who: AskedPermission['who']; readonly isValid: boolean }>;
  readonly action: ReadPart<Pick<AskedPermission, 'action' | 'parameters'> & { readonly isValid: boolean }>;
  readonly resource: ReadPart<Pick<AskedPermission, 'resourceType' | 'resourceId'> & { readonly isValid: boolean }>;
  readonly context: ReadPart<true>;
}

export const EVALUATION_PARTS = ['subject', 'action', 'resource', 'context'] as const;

const LONGEST_TYPE = 100;
const LONGEST_ID = 500;
/** In a policy's subjects, these mean something else. */
const RESERVED_TYPES = ['role', 'kind'];
const NOBODY: OtherSubject = { type: '', id: '', roles: [] };

/**
 * Reads each part; one that is missing is taken from the defaults. These were read once: many evaluations may share one
 * that is large.
 */
export async function readParts(
  members: JsonObject,
  slices: Slices,
  defaults?: EvaluationParts,
): Promise<EvaluationParts> {
  const { subject = null, action = null, resource = null, context = null } = members;
  return {
    subject: subject === null && defaults !== undefined ? defaults.subject : await readSubject(subject, slices),
    action: action === null && defaults !== undefined ? defaults.action : readAction(action),
    resource: resource === null && defaults !== undefined ? defaults.resource : readResource(resource),
    context: context === null && defaults !== undefined ? defaults.context : readContext(context),
  };
}

/** The evaluation that the parts make up, or what is wrong with them. */
export function evaluationOf(parts: EvaluationParts): ReadEvaluation | { readonly faults: readonly FieldFault[] } {
  const { subject, action, resource, context } = parts;
  if (subject.value === null || action.value === null || resource.value === null || context.value === null)
    return { faults: [subject, action, resource, context].flatMap(({ faults }) => faults) };
  const { who } = subject.value;
  if (!subject.value.isValid) return { invalid: 'subject_invalid', who };
  if (!action.value.isValid || !resource.value.isValid) return { invalid: 'resource_invalid', who };
  const { action: name, parameters } = action.value;
  const { resourceType, resourceId } = resource.value;
  return { question: { who, action: name, resourceType, resourceId, parameters } };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null counts as left out. */
export function objectFaults(field: string, value: JsonValue | undefined): FieldFault[] {
  return value === undefined || value === null || isObject(value) ? [] : [{ field, message: 'must be an object' }];
}

async function readSubject(subject: JsonValue, slices: Slices): Promise<EvaluationParts['subject']> {
  const faults = [...partFaults('subject', subject, ['type', 'id']), ...rolesFaults(subject)];
  if (faults.length > 0) return { faults, value: null };
  const { type, id, properties } = subject as { type: string; id: string; properties?: JsonObject | null };
  if (type === 'agent') return { faults, value: { who: { agent: id, field: 'subject.id' }, isValid: true } };
  const typeFault = textFault(type, { max: LONGEST_TYPE, rule: charactersFault }) ?? reservedFault(type);
  const idFault = textFault(id, { max: LONGEST_ID, rule: charactersFault });
  if (typeFault !== undefined || idFault !== undefined) return { faults, value: { who: NOBODY, isValid: false } };
  // The roles are taken from the caller.
  const roles = await validRoles((properties?.['roles'] ?? []) as readonly string[], slices);
  return { faults, value: { who: { type: type.normalize('NFC'), id: id.normalize('NFC'), roles }, isValid: true } };
}

/** Each once, in chunks: there may be as many as fit into a body. As for agents, an invalid one is ignored. */
async function validRoles(given: readonly string[], slices: Slices): Promise<string[]> {
  const roles = new Set<string>();
  for (const role of given) {
    if (slices.areDue) await slices.next();
    if (!roles.has(role) && labelFault(role) === undefined) roles.add(role);
  }
  return [...roles];
}

function readAction(action: JsonValue): EvaluationParts['action'] {
  const faults = partFaults('action', action, ['name']);
  if (faults.length > 0) return { faults, value: null };
  const { name, properties } = action as { name: string; properties?: JsonObject | null };
  const isValid = textFault(name, ACTION) === undefined;
  return { faults, value: { action: name, parameters: properties ?? {}, isValid } };
}

function readResource(resource: JsonValue): EvaluationParts['resource'] {
  const faults = partFaults('resource', resource, ['type', 'id']);
  if (faults.length > 0) return { faults, value: null };
  const { type, id } = resource as { type: string; id: string };
  const isValid = textFault(type, RESOURCE_TYPE) === undefined && textFault(id, RESOURCE_ID) === undefined;
  return { faults, value: { resourceType: type, resourceId: id, isValid } };
}

function readContext(context: JsonValue): EvaluationParts['context'] {
  const faults = objectFaults('context', context);
  return { faults, value: faults.length > 0 ? null : true };
}

function reservedFault(type: string): string | undefined {
  return RESERVED_TYPES.includes(type) || /[:*]/.test(type) ? 'is reserved' : undefined;
}

function charactersFault(text: string): string | undefined {
  return /[\p{Cc}\p{Cf}]/u.test(text) ? 'must not contain control or format characters' : undefined;
}

function partFaults(part: string, value: JsonValue, texts: readonly string[]): FieldFault[] {
  if (value === null) return [{ field: part, message: 'is required' }];
  if (!isObject(value)) return [{ field: part, message: 'must be an object' }];
  const faults = texts.flatMap((name) =>
    typeof value[name] === 'string' ? [] : [{ field: `${part}.${name}`, message: 'must be a string' }],
  );
  return [...faults, ...objectFaults(`${part}.properties`, value['properties'])];
}

function rolesFaults(subject: JsonValue): FieldFault[] {
  const properties = isObject(subject) ? subject['properties'] : undefined;
  const roles = isObject(properties) ? (properties['roles'] ?? null) : null;
  const areTexts = roles === null || (Array.isArray(roles) && roles.every((role) => typeof role === 'string'));
  return areTexts ? [] : [{ field: 'subject.properties.roles', message: 'must be an array of strings' }];
}
