import { type AskedPermission, type Asker, ACTION, RESOURCE_ID, RESOURCE_TYPE } from '../evaluation/questions';
import type { FieldFault } from '../../../core/errors/domain-error';
import { textFault } from '../../../http/validation/value-rules';
import type { JsonObject, JsonValue } from '../../../core/json/json-value';
import { type GivenPrincipal, ON_BEHALF_OF, RUN } from '../principals';
import type { OtherSubject } from '../../policies/patterns/subjects';
import { labelFault } from '../../../core/values/label-fault';

/** Why an evaluation is refused regardless of policies. */
type InvalidReason = 'subject_invalid' | 'resource_invalid';

/** An evaluation converted to our terms. */
export type ReadEvaluation =
  { readonly question: AskedPermission } | { readonly invalid: InvalidReason; readonly who: AskedPermission['who'] };

/** One part of an evaluation, converted; or what is missing, or not of the type that the standard requires. */
type ReadPart<Value> = { readonly value: Value } | { readonly faults: readonly FieldFault[] };

/** Who asks, and for whom. Invalid if no policy can refer to it. */
interface ReadAsker extends Asker {
  readonly isValid: boolean;
}

/** With what it is as a principal, where the context names the agent. */
interface ReadSubject extends ReadAsker {
  readonly given: GivenPrincipal;
}

/** What the standard calls an access evaluation, as far as we read it; other members are ignored. */
interface EvaluationParts {
  readonly subject: ReadPart<ReadSubject>;
  readonly action: ReadPart<Pick<AskedPermission, 'action' | 'parameters'> & { readonly isValid: boolean }>;
  readonly resource: ReadPart<Pick<AskedPermission, 'resourceType' | 'resourceId'> & { readonly isValid: boolean }>;
  /** With the agent that acts, by id or name, and the run; null if it names none. */
  readonly context: ReadPart<Record<'agent' | 'run', string | null>>;
}

const EVALUATION_PARTS = ['subject', 'action', 'resource', 'context'] as const;

const LONGEST_TYPE = 100;
const LONGEST_ID = 500;
/** In a policy's subjects, these mean something else. */
const RESERVED_TYPES = ['role', 'kind'];
/** The texts that a subject and a resource must have. */
const IDENTIFIED = ['type', 'id'] as const;
const NOBODY: OtherSubject = { type: '', id: '', roles: [] };

/**
 * Reads each part; one that is missing is taken from the defaults. These were read once: many evaluations may share one
 * that is large.
 */
export function readParts(members: JsonObject, defaults?: EvaluationParts): EvaluationParts {
  const { subject = null, action = null, resource = null, context = null } = members;
  return {
    subject: subject === null && defaults !== undefined ? defaults.subject : readSubject(subject),
    action: action === null && defaults !== undefined ? defaults.action : readAction(action),
    resource: resource === null && defaults !== undefined ? defaults.resource : readResource(resource),
    context: context === null && defaults !== undefined ? defaults.context : readContext(context),
  };
}

/** The evaluation that the parts make up, or what is wrong with them. */
export function evaluationOf(parts: EvaluationParts): ReadEvaluation | { readonly faults: readonly FieldFault[] } {
  const { subject, action, resource, context } = parts;
  if ('faults' in subject || 'faults' in action || 'faults' in resource || 'faults' in context)
    return { faults: [subject, action, resource, context].flatMap((part) => ('faults' in part ? part.faults : [])) };
  const { who, onBehalfOf, isValid } = askerOf(subject.value, context.value.agent);
  if (!isValid) return { invalid: 'subject_invalid', who };
  if (!action.value.isValid || !resource.value.isValid) return { invalid: 'resource_invalid', who };
  const { action: name, parameters } = action.value;
  const { resourceType, resourceId } = resource.value;
  const { run } = context.value;
  return { question: { who, onBehalfOf, action: name, resourceType, resourceId, parameters, run } };
}

function askerOf(subject: ReadSubject, agent: string | null): ReadAsker {
  if (agent === null) return subject;
  const { given, isValid } = subject;
  // By the rules of execute.
  const isPrincipal = isValid && (ON_BEHALF_OF.rule(given) ?? []).length === 0;
  return { who: { agent, field: 'context.agent' }, onBehalfOf: { ...given, field: 'subject' }, isValid: isPrincipal };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null counts as left out. */
function objectFaults(field: string, value: JsonValue | undefined): readonly FieldFault[] {
  const isRight = value === undefined || value === null || isObject(value);
  return isRight ? [] : [{ field, message: 'must be an object' }];
}

function readSubject(subject: JsonValue): EvaluationParts['subject'] {
  const faults = subjectFaults(subject);
  if (faults.length > 0) return { faults };
  const { type, id } = subject as { type: string; id: string };
  if (type === 'agent') {
    const who = { agent: id, field: 'subject.id' };
    return { value: { who, isValid: true, given: { subject: `${type}:${id}`, roles: undefined } } };
  }
  const typeFault = textFault(type, { max: LONGEST_TYPE, rule: charactersFault }) ?? reservedFault(type);
  const idFault = textFault(id, { max: LONGEST_ID, rule: charactersFault });
  const roles = givenRoles(subject);
  const given = { subject: `${type}:${id}`, roles: areTexts(roles) ? roles : undefined };
  if (typeFault !== undefined || idFault !== undefined) return { value: { who: NOBODY, isValid: false, given } };
  const who = { type: type.normalize('NFC'), id: id.normalize('NFC'), roles: rolesOf(roles) };
  return { value: { who, isValid: true, given } };
}

/** Each once, in Unicode normal form C. As for agents, an invalid one is ignored. */
function rolesOf(given: JsonValue): readonly string[] {
  if (!areTexts(given)) return [];
  return [...new Set(given.map((role) => role.normalize('NFC')))].filter((role) => labelFault(role) === undefined);
}

/** Null if there are none. */
function givenRoles(subject: JsonValue): JsonValue {
  const properties = isObject(subject) ? subject['properties'] : undefined;
  return isObject(properties) ? (properties['roles'] ?? null) : null;
}

function readAction(action: JsonValue): EvaluationParts['action'] {
  const faults = partFaults('action', action, ['name']);
  if (faults.length > 0) return { faults };
  const { name, properties } = action as { name: string; properties?: JsonObject | null };
  const isValid = textFault(name, ACTION) === undefined;
  return { value: { action: name, parameters: properties ?? {}, isValid } };
}

function readResource(resource: JsonValue): EvaluationParts['resource'] {
  const faults = partFaults('resource', resource, IDENTIFIED);
  if (faults.length > 0) return { faults };
  const { type, id } = resource as { type: string; id: string };
  const isValid = textFault(type, RESOURCE_TYPE) === undefined && textFault(id, RESOURCE_ID) === undefined;
  return { value: { resourceType: type, resourceId: id, isValid } };
}

function readContext(context: JsonValue): EvaluationParts['context'] {
  if (!isObject(context)) {
    const faults = objectFaults('context', context);
    return faults.length > 0 ? { faults } : { value: { agent: null, run: null } };
  }
  const { agent = null, run = null } = context;
  const named = typeof agent === 'string' ? agent : null;
  const runFault = run === null ? undefined : textFault(run, RUN);
  const faults = [
    ...(named === agent ? [] : [{ field: 'context.agent', message: 'must be a string' }]),
    ...(runFault === undefined ? [] : [{ field: 'context.run', message: runFault }]),
  ];
  return faults.length > 0 ? { faults } : { value: { agent: named, run: typeof run === 'string' ? run : null } };
}

function reservedFault(type: string): string | undefined {
  return RESERVED_TYPES.includes(type) || /[:*]/.test(type) ? 'is reserved' : undefined;
}

function charactersFault(text: string): string | undefined {
  return /[\p{Cc}\p{Cf}]/u.test(text) ? 'must not contain control or format characters' : undefined;
}

function partFaults(part: string, value: JsonValue, texts: readonly string[]): readonly FieldFault[] {
  if (value === null) return [{ field: part, message: 'is required' }];
  if (!isObject(value)) return [{ field: part, message: 'must be an object' }];
  const faults = texts.flatMap((name) =>
    typeof value[name] === 'string' ? [] : [{ field: `${part}.${name}`, message: 'must be a string' }],
  );
  return [...faults, ...objectFaults(`${part}.properties`, value['properties'])];
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

export const MOST_EVALUATIONS = 1_000;

/** After which item the evaluation of a list stops. */
export const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
export type Semantic = (typeof SEMANTICS)[number];
/** The decision that ends it. */
const ENDING: Readonly<Record<Semantic, boolean | null>> = {
  ...{ execute_all: null, deny_on_first_deny: false, permit_on_first_permit: true },
};

/** An item of a list: an evaluation to answer, or what is wrong with it. */
export type ListedEvaluation = ReadEvaluation | { readonly faults: readonly FieldFault[] };

/** Whether a body is a single evaluation: it has no list, or an empty one. */
export function isSingle({ evaluations = null }: JsonObject): boolean {
  return evaluations === null || (Array.isArray(evaluations) && evaluations.length === 0);
}

/** What is wrong with a body apart from its evaluations. */
export function listFaults(body: JsonObject): FieldFault[] {
  const { evaluations, options } = body;
  return [
    ...evaluationsFaults(evaluations),
    ...objectFaults('options', options),
    ...semanticFaults(isObject(options) ? options['evaluations_semantic'] : undefined),
    ...(isSingle(body) ? [] : EVALUATION_PARTS.flatMap((part) => objectFaults(part, body[part]))),
  ];
}

/** How to process the list of a valid body. */
export function semanticOf({ options }: JsonObject): Semantic {
  const asked = isObject(options) ? options['evaluations_semantic'] : undefined;
  return SEMANTICS.find((semantic) => semantic === asked) ?? 'execute_all';
}

/**
 * The items of a list, with defaults from the members next to it: a member of an item replaces the default as a whole.
 */
export function listedEvaluations(body: JsonObject): ListedEvaluation[] {
  const defaults = readParts(body);
  return ((body['evaluations'] ?? []) as readonly JsonValue[]).map((item) =>
    isObject(item)
      ? evaluationOf(readParts(item, defaults))
      : { faults: [{ field: 'the evaluation', message: 'must be an object' }] },
  );
}

/** Whether the list ends after an item with this decision. */
export function endsList(semantic: Semantic, decision: boolean): boolean {
  return decision === ENDING[semantic];
}

function evaluationsFaults(evaluations: JsonValue | undefined): FieldFault[] {
  if (evaluations === undefined || evaluations === null) return [];
  const message = `must be an array of at most ${MOST_EVALUATIONS} evaluations`;
  return Array.isArray(evaluations) && evaluations.length <= MOST_EVALUATIONS
    ? []
    : [{ field: 'evaluations', message }];
}

function semanticFaults(semantic: JsonValue | undefined): FieldFault[] {
  if (semantic === undefined || semantic === null || SEMANTICS.some((known) => known === semantic)) return [];
  return [{ field: 'options.evaluations_semantic', message: `must be one of ${SEMANTICS.join(', ')}` }];
}
