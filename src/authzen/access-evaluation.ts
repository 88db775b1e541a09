import type { AskedPermission } from '../evaluation/asked-permission';
import { ACTION, RESOURCE_ID, RESOURCE_TYPE, SUBJECT_ROLES } from '../evaluation/question-faults';
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
const NO_ROLES: readonly string[] = [];
const NO_FAULTS: readonly FieldFault[] = [];
/** The texts that parts must have. */
const IDENTIFIED = ['type', 'id'] as const;
const NAMED = ['name'] as const;
const NOBODY: OtherSubject = { type: '', id: '', roles: [] };

/**
 * Reads each part; one that is missing is taken from the defaults. These were read once: many evaluations may share one
 * that is large.
 */
export function readParts(members: JsonObject, defaults?: EvaluationParts): EvaluationParts {
  return partsWith(members, validRoles(rolesOf(members)), defaults);
}

/** The same, in chunks: a subject may have as many roles as fit into a body. */
export async function readPartsInSlices(
  members: JsonObject,
  slices: Slices,
  defaults?: EvaluationParts,
): Promise<EvaluationParts> {
  const given = rolesOf(members);
  const roles = new Set<string>();
  for (let start = 0; start < given.length; start += SUBJECT_ROLES.maxItems) {
    if (slices.areDue) await slices.next();
    for (const role of validRoles(given.slice(start, start + SUBJECT_ROLES.maxItems))) roles.add(role);
  }
  return partsWith(members, [...roles], defaults);
}

/** Whether reading the parts may take long: the subject has more roles than an agent can have. */
export function hasManyRoles(members: JsonObject): boolean {
  return rolesOf(members).length > SUBJECT_ROLES.maxItems;
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
export function objectFaults(field: string, value: JsonValue | undefined): readonly FieldFault[] {
  return value === undefined || value === null || isObject(value)
    ? NO_FAULTS
    : [{ field, message: 'must be an object' }];
}

function partsWith(members: JsonObject, roles: readonly string[], defaults?: EvaluationParts): EvaluationParts {
  const { subject = null, action = null, resource = null, context = null } = members;
  return {
    subject: subject === null && defaults !== undefined ? defaults.subject : readSubject(subject, roles),
    action: action === null && defaults !== undefined ? defaults.action : readAction(action),
    resource: resource === null && defaults !== undefined ? defaults.resource : readResource(resource),
    context: context === null && defaults !== undefined ? defaults.context : readContext(context),
  };
}

function readSubject(subject: JsonValue, roles: readonly string[]): EvaluationParts['subject'] {
  const faults = subjectFaults(subject);
  if (faults.length > 0) return { faults, value: null };
  const { type, id } = subject as { type: string; id: string };
  if (type === 'agent') return { faults, value: { who: { agent: id, field: 'subject.id' }, isValid: true } };
  const typeFault = textFault(type, { max: LONGEST_TYPE, rule: charactersFault }) ?? reservedFault(type);
  const idFault = textFault(id, { max: LONGEST_ID, rule: charactersFault });
  if (typeFault !== undefined || idFault !== undefined) return { faults, value: { who: NOBODY, isValid: false } };
  return { faults, value: { who: { type: type.normalize('NFC'), id: id.normalize('NFC'), roles }, isValid: true } };
}

/** The roles as the caller gives them; none where they have faults. */
function rolesOf({ subject = null }: JsonObject): readonly string[] {
  const roles = givenRoles(subject);
  return areTexts(roles) ? roles : NO_ROLES;
}

/** Null if there are none. */
function givenRoles(subject: JsonValue): JsonValue {
  const properties = isObject(subject) ? subject['properties'] : undefined;
  return isObject(properties) ? (properties['roles'] ?? null) : null;
}

/** Each once. As for agents, an invalid one is ignored. */
function validRoles(given: readonly string[]): readonly string[] {
  return given.length === 0 ? NO_ROLES : [...new Set(given)].filter((role) => labelFault(role) === undefined);
}

function readAction(action: JsonValue): EvaluationParts['action'] {
  const faults = partFaults('action', action, NAMED);
  if (faults.length > 0) return { faults, value: null };
  const { name, properties } = action as { name: string; properties?: JsonObject | null };
  const isValid = textFault(name, ACTION) === undefined;
  return { faults, value: { action: name, parameters: properties ?? {}, isValid } };
}

function readResource(resource: JsonValue): EvaluationParts['resource'] {
  const faults = partFaults('resource', resource, IDENTIFIED);
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

/** Most parts have none, so that nothing is allocated for them. */
function partFaults(part: string, value: JsonValue, texts: readonly string[]): readonly FieldFault[] {
  if (value === null) return [{ field: part, message: 'is required' }];
  if (!isObject(value)) return [{ field: part, message: 'must be an object' }];
  const properties = value['properties'] ?? null;
  if (texts.every((name) => typeof value[name] === 'string') && properties === null) return NO_FAULTS;
  const faults = texts.flatMap((name) =>
    typeof value[name] === 'string' ? [] : [{ field: `${part}.${name}`, message: 'must be a string' }],
  );
  return [...faults, ...objectFaults(`${part}.properties`, properties)];
}

function subjectFaults(subject: JsonValue): readonly FieldFault[] {
  const faults = partFaults('subject', subject, IDENTIFIED);
  const roles = givenRoles(subject);
  if (roles === null || areTexts(roles)) return faults;
  return [...faults, { field: 'subject.properties.roles', message: 'must be an array of strings' }];
}

function areTexts(value: JsonValue): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
